use muster_script::Limits;
use muster_script::value::Value;
use crate::matches::run;
fn rss() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4
}
#[test]
fn throwaway_rss() {
    let text = "function deep(n) { return n === 0 ? 0 : 1 + deep(n - 1); }
        function matchInit(ctx, logger, nk, params) { deep(params && params.deep || 0); return { state: {}, tickRate: 1, label: '' }; }";
    for deep in [0.0, 6000.0] {
        let hall = super::matches::hall(text, Limits::default());
        run(async {
            hall.create(1, Value::Nil).await.unwrap();
            let before = rss();
            for id in 2..302 { hall.create(id, Value::Map(vec![("deep".to_owned(), Value::Number(deep))])).await.unwrap(); }
            println!("deep {deep}: {} KiB per match", (rss() - before) / 300);
        });
    }
}
