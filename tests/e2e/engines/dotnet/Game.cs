// Two players of the official .NET client: sign in, storage, chat, and a game of tic-tac-toe. The last line printed is
// "all is well"; anything else has failed.

using System;
using System.Collections.Generic;
using System.Collections.Concurrent;
using System.Linq;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using Nakama;
using Nakama.TinyJson;

public static class Game
{
    private const long Board = 1, Move = 2;

    public static int Main()
    {
        try
        {
            Play().Wait();
            Console.WriteLine("all is well");
            return 0;
        }
        catch (AggregateException failed)
        {
            Console.Error.WriteLine(failed.InnerException);
            return 1;
        }
    }

    /// What a socket was told, in order. Nothing blocks: continuations run where the client reads its socket.
    private class Heard
    {
        private readonly ConcurrentQueue<string> _texts = new ConcurrentQueue<string>();
        private readonly SemaphoreSlim _count = new SemaphoreSlim(0);

        public void Add(string text)
        {
            _texts.Enqueue(text);
            _count.Release();
        }

        public async Task<string> Take()
        {
            await _count.WaitAsync();
            string text;
            _texts.TryDequeue(out text);
            return text;
        }
    }

    private static void Holds(bool condition, string step)
    {
        if (!condition) throw new Exception("not so: " + step);
        Console.WriteLine(step);
    }

    private static async Task Play()
    {
        var port = int.Parse(Environment.GetEnvironmentVariable("MUSTER_SOCKET__PORT"));
        var client = new Client("http", "127.0.0.1", port, "defaultkey");
        var ann = await client.AuthenticateDeviceAsync(Guid.NewGuid().ToString());
        var bob = await client.AuthenticateEmailAsync("bob@example.com", "correct horse", "bob");
        Holds(ann.Created && bob.Username == "bob", "both sign in");

        var written = new WriteStorageObject { Collection = "saves", Key = "slot1", Value = "{\"level\":7}" };
        await client.WriteStorageObjectsAsync(ann, new IApiWriteStorageObject[] { written });
        var id = new StorageObjectId { Collection = "saves", Key = "slot1", UserId = ann.UserId };
        var read = await client.ReadStorageObjectsAsync(ann, new IApiReadStorageObjectId[] { id });
        Holds(read.Objects.Single().Value.Contains("7"), "an object is written and read");
        try
        {
            await client.WriteStorageObjectsAsync(ann, new IApiWriteStorageObject[] { new WriteStorageObject { Collection = "saves", Key = "x", Value = "7" } });
            Holds(false, "a wrong request is refused");
        }
        catch (ApiResponseException refused)
        {
            Holds(refused.StatusCode == 400, "a wrong request is refused");
        }

        var boards = new[] { new Heard(), new Heard() };
        var heard = new Heard();
        var sockets = new List<ISocket>();
        foreach (var session in new[] { ann, bob })
        {
            var socket = Socket.From(client);
            var mine = boards[sockets.Count];
            socket.ReceivedMatchState += state => { if (state.OpCode == Board) mine.Add(Encoding.UTF8.GetString(state.State)); };
            socket.ReceivedChannelMessage += message => heard.Add(message.Content);
            await socket.ConnectAsync(session, true);
            sockets.Add(socket);
        }
        IChannel room = null;
        foreach (var socket in sockets) room = await socket.JoinChatAsync("hall", ChannelType.Room, true, false);
        await sockets[0].WriteChatMessageAsync(room.Id, new Dictionary<string, string> { { "text", "hello" } }.ToJson());
        Holds((await heard.Take()).Contains("hello") && (await heard.Take()).Contains("hello"), "both hear what is said");

        var matchId = "";
        for (var index = 0; index < 2; index += 1)
        {
            var found = await client.RpcAsync(index == 0 ? ann : bob, "find_match", "{}");
            matchId = found.Payload.FromJson<Dictionary<string, string>>()["match_id"];
            await sockets[index].JoinMatchAsync(matchId);
        }
        await boards[0].Take(); // ann is alone
        var last = await boards[0].Take();
        await boards[1].Take();
        foreach (var move in new[] { new[] { 0, 0 }, new[] { 1, 3 }, new[] { 0, 1 }, new[] { 1, 4 }, new[] { 0, 2 } })
        {
            await sockets[move[0]].SendMatchStateAsync(matchId, Move, "{\"cell\":" + move[1] + "}");
            last = await boards[0].Take();
            await boards[1].Take();
        }
        Holds(last.Contains("\"over\":true") && last.Contains("\"winner\":1"), "ann has won");
        Holds((await client.GetAccountAsync(ann)).Wallet.Contains("1"), "it stands in the wallet");
        foreach (var socket in sockets) await socket.CloseAsync();
    }
}
