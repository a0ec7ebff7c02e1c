//! A generator process: reads its plan, runs its share of the scenario on one thread, and reports.

use std::cell::{Cell, RefCell};
use std::io::{self, Write as _};
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tokio::sync::{Notify, watch};

use crate::load::socket::ReadBuffer;
use crate::load::{Endpoints, Fault};
use crate::machine::{self, OwnUse};
use crate::pacing::PreciseTimer;
use crate::plan::{Event, Go, MachineClock, Part, Plan, Window, WorkerReport};
use crate::scenario;
use crate::tally::Tally;
use crate::timeline::Recorder;

const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// State that all tasks of a worker share. They run on one thread; no borrow is held across an await.
pub struct Worker {
    pub plan: Plan,
    pub endpoints: Endpoints,
    pub read_buffer: ReadBuffer,
    pub random: RefCell<fastrand::Rng>,
    pub tally: RefCell<Tally>,
    pub clock: MachineClock,
    timeline: RefCell<Recorder>,
    go: watch::Receiver<Option<Window>>,
    /// `attack`: the part under way.
    pub part: watch::Receiver<Part>,
    /// Operations without an answer, counted from their intended start.
    in_flight: Cell<u64>,
    nothing_in_flight: Notify,
    done: Cell<u64>,
    measured: Cell<Measured>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Measured {
    begin: Option<(Instant, OwnUse)>,
    elapsed: Duration,
    used: OwnUse,
}

impl Worker {
    fn new(plan: Plan, go: watch::Receiver<Option<Window>>, part: watch::Receiver<Part>) -> Self {
        let mut endpoints = Endpoints::new(plan.addresses.clone(), plan.worker, plan.cluster.is_cluster(plan.scenario));
        if plan.attacker.is_some() {
            endpoints = endpoints.at_source(plan.attack.attack_address);
        }
        Self {
            endpoints,
            random: RefCell::new(fastrand::Rng::with_seed(plan.seed)),
            plan,
            go,
            part,
            read_buffer: ReadBuffer::new(),
            tally: RefCell::default(),
            clock: MachineClock::new(),
            timeline: RefCell::default(),
            in_flight: Cell::default(),
            nothing_in_flight: Notify::new(),
            done: Cell::default(),
            measured: Cell::default(),
        }
    }

    /// Waits until the run begins; it begins once all workers are ready.
    pub async fn wait_for_go(&self) -> Window {
        let mut go = self.go.clone();
        loop {
            let window = *go.borrow_and_update();
            if let Some(window) = window {
                tokio::time::sleep_until(window.begin.into()).await;
                self.timeline.borrow_mut().begin(window.begin);
                return window;
            }
            if go.changed().await.is_err() {
                // The coordinator is gone, so this process is about to end.
                std::future::pending::<()>().await;
            }
        }
    }

    /// The window of the run, once it is known.
    pub fn window(&self) -> Option<Window> {
        *self.go.borrow()
    }

    pub fn begin_operation(&self) {
        self.begin_operations(1);
    }

    pub fn begin_operations(&self, count: u64) {
        self.in_flight.set(self.in_flight.get() + count);
        self.timeline.borrow_mut().send(count);
    }

    /// Ends an operation. Every operation must end exactly once, with an answer or a fault.
    pub fn end_operation(&self) {
        self.end_operations(1);
    }

    pub fn end_operations(&self, count: u64) {
        self.in_flight.set(self.in_flight.get().saturating_sub(count));
        self.done.set(self.done.get() + count);
        if self.in_flight.get() == 0 {
            self.nothing_in_flight.notify_waiters();
        }
    }

    /// Begins the operations that one message causes: its deliveries and its acknowledgement.
    pub fn expect_answers(&self, count: u64) {
        self.in_flight.set(self.in_flight.get() + count);
    }

    /// Counts a message on its way into the server.
    pub fn note_message_in(&self) {
        self.timeline.borrow_mut().send(1);
        if self.window().is_some_and(|window| window.covers(Instant::now())) {
            self.tally.borrow_mut().served += 1;
        }
    }

    /// Counts a delivered message. It belongs to the window if its intended start does, and its latency counts from
    /// then.
    pub fn note_message_out(&self, intended: Instant) {
        let now = Instant::now();
        let latency = now.saturating_duration_since(intended);
        self.note_answer(now, latency);
        let Some(window) = self.window() else { return };
        let mut tally = self.tally.borrow_mut();
        tally.served += u64::from(window.covers(now));
        if window.covers(intended) {
            tally.ok += 1;
            tally.latency.record(latency);
        }
    }

    /// Counts an open connection for as long as the returned value lives.
    pub fn connected(self: &Rc<Self>) -> Connected {
        self.timeline.borrow_mut().connect();
        Connected(self.clone())
    }

    /// Notes a right answer in the run's timeline.
    pub fn note_answer(&self, now: Instant, latency: Duration) {
        self.timeline.borrow_mut().receive(now, latency);
    }

    /// Ends an operation of a closed loop. It belongs to the window if its answer came within it.
    pub fn record_closed(&self, window: &Window, started: Instant, outcome: Result<(), Fault>) {
        let now = Instant::now();
        self.end_operation();
        if outcome.is_ok() {
            self.note_answer(now, now - started);
        }
        let mut tally = self.tally.borrow_mut();
        match outcome {
            Err(fault) => tally.fail(&fault),
            Ok(()) if window.covers(now) => {
                tally.ok += 1;
                tally.served += 1;
                tally.latency.record(now - started);
            }
            Ok(()) => {}
        }
    }

    /// Ends an operation of an open loop. It belongs to the window if its intended start does, and its latency counts
    /// from then.
    pub fn record_open(&self, intended: Instant, outcome: Result<(), Fault>) {
        let now = Instant::now();
        self.end_operation();
        let Some(window) = self.window() else { return };
        if outcome.is_ok() {
            self.note_answer(now, now.saturating_duration_since(intended));
        }
        let mut tally = self.tally.borrow_mut();
        match outcome {
            Err(fault) => tally.fail(&fault),
            Ok(()) => {
                tally.served += u64::from(window.covers(now));
                if window.covers(intended) {
                    tally.ok += 1;
                    tally.latency.record(now.saturating_duration_since(intended));
                }
            }
        }
    }

    pub fn fail(&self, fault: &Fault) {
        self.tally.borrow_mut().fail(fault);
    }

    /// Waits until every operation has ended, for the plan's patience at most. Operations left over are errors.
    pub async fn drain(&self) {
        if tokio::time::timeout(self.plan.patience, self.drained()).await.is_err() {
            self.fail_in_flight();
        }
    }

    /// Same as [`Worker::drain`], for scenarios with messages: `lost` tells how many of the missing messages were
    /// overtaken by later ones.
    pub async fn drain_messages(&self, lost: impl FnOnce() -> u64) {
        let is_drained = tokio::time::timeout(self.plan.patience, self.drained()).await.is_ok();
        let lost = lost();
        self.tally.borrow_mut().fail_many(Fault::MessageLost.to_string(), lost);
        self.in_flight.set(self.in_flight.get().saturating_sub(lost));
        if !is_drained {
            self.fail_in_flight();
        }
    }

    /// Same as [`Worker::drain`], with new patience after each answer.
    pub async fn drain_while_answers_come(&self) {
        let mut done = self.done.get();
        while tokio::time::timeout(self.plan.patience, self.drained()).await.is_err() {
            if self.done.get() == done {
                return self.fail_in_flight();
            }
            done = self.done.get();
        }
    }

    async fn drained(&self) {
        while self.in_flight.get() > 0 {
            self.nothing_in_flight.notified().await;
        }
    }

    fn fail_in_flight(&self) {
        self.tally.borrow_mut().fail_many(Fault::Unanswered.to_string(), self.in_flight.get());
    }

    /// Starts the clock for elapsed and CPU time of the measured part.
    pub fn begin_measuring(&self) {
        let begin = Some((Instant::now(), machine::own_use()));
        self.measured.set(Measured { begin, ..Measured::default() });
    }

    pub fn end_measuring(&self) {
        let measured = self.measured.get();
        if let Some((begin, before)) = measured.begin {
            let now = machine::own_use();
            let cpu = now.cpu.saturating_sub(before.cpu);
            let waited = now.waited.saturating_sub(before.waited);
            self.measured.set(Measured { begin: None, elapsed: begin.elapsed(), used: OwnUse { cpu, waited } });
        }
    }

    /// Measures this process between the two moments of a timed run.
    pub async fn measure_window(&self, window: Window) -> io::Result<()> {
        let timer = PreciseTimer::new()?;
        timer.sleep_until(window.measure_from).await?;
        self.begin_measuring();
        timer.sleep_until(window.measure_to).await?;
        self.end_measuring();
        Ok(())
    }

    fn report(&self) -> WorkerReport {
        let Measured { elapsed, used, .. } = self.measured.get();
        let share = |part: Duration| if elapsed.is_zero() { 0.0 } else { part.as_secs_f64() / elapsed.as_secs_f64() };
        WorkerReport {
            worker: self.plan.worker,
            tally: self.tally.take(),
            elapsed,
            cpu_share: share(used.cpu),
            wait_share: share(used.waited),
        }
    }
}

/// An open connection, which counts in the run's timeline.
pub struct Connected(Rc<Worker>);

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.timeline.borrow_mut().disconnect();
    }
}

/// Writes an event on standard output for the coordinator.
pub fn say(event: &Event) -> anyhow::Result<()> {
    let mut line = serde_json::to_vec(event)?;
    line.push(b'\n');
    let mut output = io::stdout().lock();
    output.write_all(&line).and_then(|()| output.flush()).context("the coordinator is gone")
}

/// Runs a worker process.
pub fn main() -> anyhow::Result<()> {
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    let plan: Plan = serde_json::from_str(&line).context("no plan on standard input")?;
    if let Some(core) = plan.pin {
        machine::pin_to_core(core)?;
    }
    if plan.attacker.is_some() {
        machine::give_way()?;
    }
    machine::raise_file_limit()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(tokio::task::LocalSet::new().run_until(run(plan)));
    if let Err(error) = &outcome {
        say(&Event::Failed(format!("{error:#}")))?;
    }
    Ok(())
}

async fn run(plan: Plan) -> anyhow::Result<()> {
    let (go_sender, go) = watch::channel(None);
    let (part_sender, part) = watch::channel(Part::default());
    let mut released = listen_to_coordinator(plan.clone(), go_sender, part_sender);
    let worker = Rc::new(Worker::new(plan, go, part));
    let progress = tokio::task::spawn_local(say_progress(worker.clone()));
    let connections = tokio::select! {
        connections = scenario::run(worker.clone()) => connections?,
        _ = released.changed() => anyhow::bail!("the coordinator is gone"),
    };
    progress.abort();
    let seconds = worker.timeline.borrow_mut().take_all();
    seconds.into_iter().try_for_each(|second| say(&Event::Second(Box::new(second))))?;
    say(&Event::Report(Box::new(worker.report())))?;
    // The coordinator still samples the server with all connections open.
    let _ = released.changed().await;
    drop(connections);
    Ok(())
}

/// Reads the coordinator's lines on a thread of its own. The receiver fires when the input ends.
fn listen_to_coordinator(
    plan: Plan,
    go: watch::Sender<Option<Window>>,
    part: watch::Sender<Part>,
) -> watch::Receiver<()> {
    let (release, released) = watch::channel(());
    std::thread::spawn(move || {
        for line in io::stdin().lines().map_while(Result::ok) {
            if let Ok(word) = serde_json::from_str::<Go>(&line) {
                go.send_replace(Some(Window::new(word, &plan)));
            } else if let Ok(word) = serde_json::from_str::<Part>(&line) {
                part.send_replace(word);
            }
        }
        drop(release);
    });
    released
}

async fn say_progress(worker: Rc<Worker>) {
    worker.wait_for_go().await;
    let mut interval = tokio::time::interval(PROGRESS_INTERVAL);
    loop {
        interval.tick().await;
        let seconds = {
            let mut timeline = worker.timeline.borrow_mut();
            timeline.roll(Instant::now());
            timeline.take_finished()
        };
        let said = seconds.into_iter().try_for_each(|second| say(&Event::Second(Box::new(second))));
        if said.and_then(|()| say(&Event::Progress(worker.done.get()))).is_err() {
            return;
        }
    }
}
