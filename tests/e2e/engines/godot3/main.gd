# Two players of the official Godot 3 client: sign in, storage, chat, and a game of tic-tac-toe. The last line printed is
# "all is well"; anything else has failed.
extends SceneTree

const BOARD = 1
const MOVE = 2
const PORT = "MUSTER_SOCKET__PORT"

var boards = {}
var heard = []
var nakama

func _init():
	nakama = load("res://addons/com.heroiclabs.nakama/Nakama.gd").new()
	root.add_child(nakama)
	play()

func play():
	yield(self, "idle_frame")
	var client = nakama.create_client("defaultkey", "127.0.0.1", int(OS.get_environment(PORT)), "http", 10)
	var ann = yield(client.authenticate_device_async("godot3-device-of-ann"), "completed")
	var bob = yield(client.authenticate_email_async("bob@example.com", "correct horse", "bob"), "completed")
	if fails(ann, "ann signs in") or fails(bob, "bob signs in"):
		return

	var object = NakamaWriteStorageObject.new("saves", "slot1", 1, 1, JSON.print({"level": 7}), "")
	var acks = yield(client.write_storage_objects_async(ann, [object]), "completed")
	if fails(acks, "an object is written"):
		return
	var id = NakamaStorageObjectId.new("saves", "slot1", ann.user_id)
	var read = yield(client.read_storage_objects_async(ann, [id]), "completed")
	if fails(read, "an object is read"):
		return
	if not holds(JSON.parse(read.objects[0].value).result.level == 7, "the object is as it was written"):
		return
	var refused = yield(client.read_storage_objects_async(ann, [NakamaStorageObjectId.new("", "", "no id")]), "completed")
	if not holds(refused.is_exception() and refused.get_exception().status_code == 400, "a wrong request is refused"):
		return

	var sockets = []
	for session in [ann, bob]:
		var socket = nakama.create_socket_from(client)
		var connected = yield(socket.connect_async(session), "completed")
		if fails(connected, "a socket opens"):
			return
		socket.connect("received_match_state", self, "_on_match_state", [session.username])
		socket.connect("received_channel_message", self, "_on_message", [session.username])
		sockets.append(socket)
	var room
	for socket in sockets:
		room = yield(socket.join_chat_async("hall", 1, true, false), "completed")
		if fails(room, "a room is joined"):
			return
	var said = yield(sockets[0].write_chat_message_async(room.id, {"text": "hello"}), "completed")
	if fails(said, "something is said"):
		return
	while heard.size() < 2:
		yield(self, "idle_frame")
	if not holds(heard[0] == "hello" and heard[1] == "hello", "both hear it"):
		return

	var match_id
	for index in [0, 1]:
		var found = yield(client.rpc_async([ann, bob][index], "find_match", "{}"), "completed")
		if fails(found, "a function is called"):
			return
		match_id = JSON.parse(found.payload).result.match_id
		var joined = yield(sockets[index].join_match_async(match_id), "completed")
		if fails(joined, "the match is joined"):
			return
	var moves = [[0, 0], [1, 3], [0, 1], [1, 4], [0, 2]]
	for move in moves:
		while not boards.has(bob.username) or int(boards[bob.username].turn) != move[0] + 1:
			yield(self, "idle_frame")
		sockets[move[0]].send_match_state_async(match_id, MOVE, JSON.print({"cell": move[1]}))
	while not boards[bob.username].over or not boards[ann.username].over:
		yield(self, "idle_frame")
	if not holds(int(boards[bob.username].winner) == 1, "ann has won"):
		return
	var account = yield(client.get_account_async(ann), "completed")
	if not holds(int(JSON.parse(account.wallet).result.wins) == 1, "it stands in the wallet"):
		return
	print("all is well")
	quit(0)

func _on_match_state(state, who):
	if int(state.op_code) == BOARD:
		boards[who] = JSON.parse(state.data).result

func _on_message(message, _who):
	heard.append(JSON.parse(message.content).result.text)

func fails(result, step):
	if result.is_exception():
		printerr("%s: %s" % [step, result.get_exception()])
		quit(1)
		return true
	print(step)
	return false

func holds(condition, step):
	print(step if condition else "not so: %s" % step)
	if not condition:
		quit(1)
	return condition
