//! The parts that all machines of a process share: the local cache, metrics, and functions that run once. Also the
//! facts about the server that game code can read.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use futures_util::future::join;
use muster_domain::{Error, ErrorKind};
use muster_script::host::{HttpClient, HttpFuture, OutgoingRequest, OutgoingResponse};
use muster_script::process::Reading;
use muster_script::{Host, Limits};

use crate::world::{NOW_SEC, answer, block_on, call, host_over, load_in, store};

fn check(expression: &str, expect: &str) {
    let body = format!("local nk = require('nakama') return tostring({expression})");
    assert_eq!(answer(&body, ""), Ok(expect.to_owned()), "{expression}");
}

fn told(expression: &str) -> String {
    answer(&format!("local nk = require('nakama') return tostring({expression})"), "").unwrap_err().1
}

/// A folder with modules, and a host over it.
fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, Host) {
    let folder = tempfile::tempdir().unwrap();
    for (file, text) in files {
        std::fs::write(folder.path().join(file), text).unwrap();
    }
    let host = host_over(store(), folder.path());
    (folder, host)
}

#[test]
fn the_cache_is_shared_by_all_machines() {
    let text = "local nk = require('nakama')
        nk.register_rpc(function(_, payload)
            nk.localcache_put('key', { nested = { 1, 2 }, text = payload })
            nk.storage_read({})
            local copy = nk.localcache_get('key')
            copy.text = 'changed'
            return nk.json_encode(nk.localcache_get('key'))
        end, 'put')
        nk.register_rpc(function() return tostring(nk.localcache_get('key', 'none')) end, 'get')
        nk.register_rpc(function() nk.localcache_delete('key') end, 'delete')
        nk.register_rpc(function() nk.localcache_clear() end, 'clear')";
    let (folder, host) = folder(&[("game.lua", text)]);
    let process = host.process.clone();
    let functions = load_in(folder.path(), host, Limits::default()).unwrap();
    block_on(async {
        let (one, other) = join(call(&functions, "put", "a"), call(&functions, "put", "a")).await;
        let expect = Ok(r#"{"nested":[1,2],"text":"a"}"#.to_owned());
        assert_eq!((one, other), (expect.clone(), expect), "each of the two machines changes only its own copy");
        for clears in ["delete", "clear"] {
            call(&functions, "put", "b").await.unwrap();
            assert!(call(&functions, "get", "").await.unwrap().starts_with("table"));
            call(&functions, clears, "").await.unwrap();
            assert_eq!(call(&functions, "get", "").await, Ok("none".to_owned()));
        }
        call(&functions, "put", "c").await.unwrap();
    });
    let now = muster_domain::Timestamp::from_seconds(NOW_SEC);
    assert!(process.cache.get(b"key", now).is_some());
}

#[test]
fn values_of_the_cache() {
    for value in ["true", "1.5", "'text'", "nil"] {
        let (put, get) = (format!("nk.localcache_put('k', {value}, 60)"), "nk.localcache_get('k')");
        check(&format!("(function() {put} return {get} == {value} end)()"), "true");
    }
    check("nk.localcache_get('nothing')", "nil");
    assert_eq!(told("nk.localcache_put('k', 1, -1)"), "localcache_put expects ttl to be 0 or more");
    assert_eq!(
        told("nk.localcache_put('k', print or function() end)"),
        "localcache_put: a function cannot be used here"
    );
}

#[test]
fn metrics_come_to_the_process() {
    let text = "local nk = require('nakama')
        nk.register_rpc(function()
            nk.metrics_counter_add('games', { mode = 'duel', ranked = 'true' }, 2)
            nk.metrics_counter_add('games', { mode = 'duel', ranked = 'true' }, 1)
            nk.metrics_gauge_set('temperature', nil, -3.5)
            nk.metrics_timer_record('round', {}, 1500000000)
        end, 'play')";
    let (folder, host) = folder(&[("game.lua", text)]);
    let process = host.process.clone();
    let functions = load_in(folder.path(), host, Limits::default()).unwrap();
    block_on(call(&functions, "play", "")).unwrap();
    let families = process.custom.families();
    let tags: Vec<_> =
        [("mode", "duel"), ("ranked", "true")].map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    assert_eq!(families["games"].series[&tags], Reading::Counter(3.0));
    assert_eq!(families["temperature"].series[&Vec::new()], Reading::Gauge(-3.5));
    let Reading::Timer { sum_sec, .. } = &families["round"].series[&Vec::new()] else { panic!("a timer") };
    assert!((sum_sec - 1.5).abs() < f64::EPSILON);
    assert!(told("nk.metrics_counter_add('c', {}, -1)").contains("none below 0"));
    assert!(
        told("nk.metrics_gauge_set('c', { 'list' }, 1)").contains("expects tags to be a table or object with names")
    );
}

#[test]
fn what_runs_once_does_so_in_one_machine_and_of_one_module() {
    let text = "local nk = require('nakama')
        nk.run_once(function(context)
            assert(context.execution_mode == 'run_once' and context.env.NAME == 'value')
            assert(nk.get_context().execution_mode == 'run_once')
            nk.storage_write({{ collection = 'c', key = 'k', value = { at = nk.time() } }})
            nk.localcache_put('runs', (nk.localcache_get('runs') or 0) + 1)
        end)
        nk.register_rpc(function() return tostring(nk.localcache_get('runs')) end, 'runs')";
    let second = "require('game') require('nakama').run_once(function() error('only the first runs') end)";
    let (folder, host) = folder(&[("game.lua", text), ("second.lua", second)]);
    let functions = load_in(folder.path(), host, Limits::default()).unwrap();
    block_on(async {
        // Each call has a machine of its own.
        let (one, other) = join(call(&functions, "runs", ""), call(&functions, "runs", "")).await;
        assert_eq!((one, other), (Ok("1".to_owned()), Ok("1".to_owned())));
    });
    let broken = "\nrequire('nakama').run_once(function() error('broken') end)";
    let (folder, host) = self::folder(&[("bad.lua", broken)]);
    let error = load_in(folder.path(), host, Limits::default()).err().unwrap();
    assert_eq!(error.to_string(), "bad.lua:2: broken");
}

#[test]
fn code_is_told_of_its_call_and_its_server() {
    check("nk.get_context() == context", "true");
    check("nk.get_context().execution_mode", "rpc");
    check("nk.get_config().name", "muster");
}

#[test]
fn files_are_read_below_the_folder_alone() {
    let text = "local nk = require('nakama')
        nk.register_rpc(function(_, payload) return nk.file_read(payload) end, 'read')";
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "secret").unwrap();
    let (folder, host) = folder(&[("game.lua", text), ("data.json", "{}")]);
    std::fs::create_dir(folder.path().join("deep")).unwrap();
    std::os::unix::fs::symlink(outside.path(), folder.path().join("link")).unwrap();
    std::os::unix::fs::symlink(folder.path().join("data.json"), folder.path().join("deep/alias")).unwrap();
    let large = std::fs::File::create(folder.path().join("large")).unwrap();
    large.set_len((16 << 20) + 1).unwrap();
    let functions = load_in(folder.path(), host, Limits::default()).unwrap();
    block_on(async {
        for path in ["data.json", "deep/../data.json", "deep/alias"] {
            assert_eq!(call(&functions, "read", path).await, Ok("{}".to_owned()), "{path}");
        }
        let secret = outside.path().join("secret").display().to_string();
        let climbing = format!("../{}/secret", outside.path().file_name().unwrap().to_string_lossy());
        for path in ["nothing", "deep", "link/secret", "../../etc/hostname", &secret, &climbing] {
            let (_, message) = call(&functions, "read", path).await.unwrap_err();
            assert_eq!(message, format!("there is no file {path} in the folder of the modules"));
        }
        let (_, message) = call(&functions, "read", "large").await.unwrap_err();
        assert_eq!(message, "large has more than 16777216 bytes");
    });
}

/// Answers each request with the request itself, and keeps it.
#[derive(Default)]
struct Echo(RefCell<Vec<OutgoingRequest>>);

impl HttpClient for Echo {
    fn send(&self, request: OutgoingRequest) -> HttpFuture<'_> {
        self.0.borrow_mut().push(request.clone());
        Box::pin(async move {
            tokio::task::yield_now().await;
            if request.url.ends_with("/refused") {
                return Err(Error::new(ErrorKind::Unavailable, "connection refused"));
            }
            let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
            let headers = vec![header("content-type", "text/plain"), header("x-a", "1"), header("x-a", "2")];
            Ok(OutgoingResponse { code: 201, headers, body: request.body })
        })
    }
}

#[test]
fn requests_to_other_servers() {
    let text = "local nk = require('nakama')
        nk.register_rpc(function(_, payload)
            local code, headers, body = nk.http_request('https://example.com/x', 'post',
                { Accept = 'text/plain', Number = '5' }, payload, 1500, true)
            return code .. headers['Content-Type'] .. headers['X-A'] .. body
        end, 'full')
        nk.register_rpc(function() return select(3, nk.http_request('https://example.com', 'GET', {}, nil)) end, 'bare')
        nk.register_rpc(function() return tostring(select(2, pcall(nk.http_request, 'http://h/refused', 'GET'))) end, 'no')
        nk.register_rpc(function() nk.http_request('http://h', 'CONNECT') end, 'method')
        nk.register_rpc(function() nk.http_request('http://h', 'GET', nil, nil, 0) end, 'timeout')";
    let (folder, mut host) = folder(&[("game.lua", text)]);
    let echo = Rc::new(Echo::default());
    host.http = echo.clone();
    let functions = load_in(folder.path(), host, Limits::default()).unwrap();
    block_on(async {
        assert_eq!(call(&functions, "full", "payload").await, Ok("201text/plain1, 2payload".to_owned()));
        assert_eq!(call(&functions, "bare", "").await, Ok(String::new()));
        assert_eq!(call(&functions, "no", "").await, Ok("connection refused".to_owned()));
        let (_, message) = call(&functions, "method", "").await.unwrap_err();
        assert!(message.ends_with("expects method to be one of GET, POST, PUT, PATCH, DELETE, HEAD"), "{message}");
        let (_, message) = call(&functions, "timeout", "").await.unwrap_err();
        assert!(message.ends_with("expects timeout to be above 0"), "{message}");
    });
    let asked = echo.0.borrow();
    let mut headers = asked[0].headers.clone();
    headers.sort();
    assert_eq!(headers, [("Accept".to_owned(), "text/plain".to_owned()), ("Number".to_owned(), "5".to_owned())]);
    let times: Vec<_> = asked.iter().map(|request| (request.timeout.as_millis(), request.insecure)).collect();
    assert_eq!(times, [(1_500, true), (5_000, false), (5_000, false)]);
    assert_eq!(asked[0].timeout, Duration::from_millis(1_500));
    assert_eq!(asked[0].method, "POST");
}
