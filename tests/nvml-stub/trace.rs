//! The trace, and where in it the looks are.

use crate::clock;
use serde_json::{Map, Value};
use std::collections::VecDeque;
use std::ffi::{CStr, OsString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

pub const SUCCESS: u32 = 0;
pub const UNINITIALIZED: u32 = 1;
pub const INVALID_ARGUMENT: u32 = 2;
pub const NOT_SUPPORTED: u32 = 3;
pub const NOT_FOUND: u32 = 6;
pub const INSUFFICIENT_SIZE: u32 = 7;
pub const TIMEOUT: u32 = 10;
pub const FUNCTION_NOT_FOUND: u32 = 13;
pub const UNKNOWN: u32 = 999;

pub const SAMPLES: &str = "nvmlDeviceGetSamples.gpu";
pub const EVENTS: &str = "nvmlEventSetWait_v2";
const COUNTERS: [&str; 3] = [
    "nvmlDeviceGetTotalEnergyConsumption", "nvmlDeviceGetFieldValues.197",
    "nvmlDeviceGetFieldValues.198",
];
/// The driver's own samples that its buffer holds.
const BUFFER: usize = 200;

type Answers = Map<String, Value>;

struct Line {
    at: f64,
    system: Answers,
    devices: Vec<Answers>,
}

/// A GPU or MIG device, as the trace stands now.
pub struct Device {
    pub gpu: u64,
    pub mig: Option<u64>,
    answers: Answers,
    pub samples: VecDeque<(u64, f64)>,
    pub events: VecDeque<u64>,
}

/// The library's state: the trace, and how far it is played.
pub struct Player {
    lines: Vec<Line>,
    system: Answers,
    pub devices: Vec<Device>,
    /// Line of the present look; none before the first.
    line: Option<usize>,
    pub look: u64,
    rounds: u64,
    is_counted: bool,
    is_stepped: bool,
    is_looped: bool,
    began: Instant,
}

static PLAYER: Mutex<Option<Player>> = Mutex::new(None);

fn player() -> MutexGuard<'static, Option<Player>> {
    PLAYER.lock().expect("no export panics")
}

/// Reads the trace, unless that was done, and says how starting ends.
pub fn start() -> u32 {
    let mut player = player();
    if player.is_none() {
        match read() {
            Ok(read) => *player = Some(read),
            Err(problem) => {
                eprintln!("nvml-stub: {problem}");
                return UNKNOWN;
            }
        }
    }
    let answer = player.as_ref().and_then(|p| p.system.get("nvmlInit_v2"));
    let error = answer.and_then(error_in);
    if error.is_some() {
        *player = None;
    }
    error.unwrap_or(SUCCESS)
}

/// Answers from the state.
pub fn with(answer: impl FnOnce(&mut Player) -> Result<(), u32>) -> u32 {
    match player().as_mut() {
        None => UNINITIALIZED,
        Some(player) => answer(player).err().unwrap_or(SUCCESS),
    }
}

fn error_in(answer: &Value) -> Option<u32> {
    u32::try_from(answer.get("error")?.as_u64()?).ok()
}

impl Player {
    /// Begins a look, and says how many GPUs there are.
    pub fn count(&mut self) -> Result<u64, u32> {
        if self.is_counted {
            self.advance();
            std::thread::sleep(slowness());
        }
        self.is_counted = true;
        let count = self.system("nvmlDeviceGetCount_v2")?;
        count.as_u64().ok_or(UNKNOWN)
    }

    /// An answer of the driver.
    pub fn system(&self, call: &str) -> Result<&Value, u32> {
        let answer = self.system.get(call).ok_or(FUNCTION_NOT_FOUND)?;
        error_in(answer).map_or(Ok(answer), Err)
    }

    fn advance(&mut self) {
        self.look += 1;
        clock::looked();
        let last = self.lines.len();
        if self.is_stepped {
            let next = self.line.map_or(0, |line| line + 1);
            if next < last {
                self.play(next);
            } else if self.is_looped && last > 0 {
                self.rounds += 1;
                self.play(0);
            }
            return;
        }
        loop {
            let next = self.line.map_or(0, |line| line + 1);
            let now = self.began.elapsed().as_secs_f64() - self.rounds as f64 * self.span();
            if next < last {
                if self.lines[next].at > now {
                    return;
                }
                self.play(next);
            } else if self.is_looped && last > 0 && now >= self.span() {
                self.rounds += 1;
                self.line = None;
            } else {
                return;
            }
        }
    }

    /// Seconds that one round takes: the last line stays as long as the one
    /// before it.
    fn span(&self) -> f64 {
        match self.lines.as_slice() {
            [.., before, last] => last.at + (last.at - before.at).max(0.001),
            [only] => only.at + 1.0,
            // A round of nothing is never played.
            [] => 1.0,
        }
    }

    fn play(&mut self, line: usize) {
        self.line = Some(line);
        let shift = (self.rounds as f64 * self.span() * 1e6) as u64;
        let line = &self.lines[line];
        self.system.extend(line.system.clone());
        for (device, answers) in self.devices.iter_mut().zip(&line.devices) {
            device.take(answers, shift);
        }
    }

    /// The device behind a handle: its position, from one.
    pub fn device<T>(&mut self, handle: *mut T) -> Result<&mut Device, u32> {
        let place = (handle as usize).checked_sub(1).ok_or(INVALID_ARGUMENT)?;
        self.devices.get_mut(place).ok_or(INVALID_ARGUMENT)
    }

    /// The handle of the first device that is so.
    pub fn find(&self, is_so: impl Fn(&Device) -> bool) -> Result<usize, u32> {
        let place = self.devices.iter().position(is_so).ok_or(NOT_FOUND)?;
        self.devices[place].alive()?;
        Ok(place + 1)
    }

    /// What a counter gained in the rounds that are over.
    pub fn gained<T>(&self, handle: *mut T, call: &str) -> u64 {
        if self.rounds == 0 || !COUNTERS.contains(&call) {
            return 0;
        }
        let place = (handle as usize).saturating_sub(1);
        let values = self.lines.iter().filter_map(|line| {
            let value = line.devices.get(place)?.get(call)?;
            value.as_u64()
        });
        let (first, last) = values.fold((None, 0), |(first, _), v| (first.or(Some(v)), v));
        last.saturating_sub(first.unwrap_or(last)) * self.rounds
    }
}

impl Device {
    fn take(&mut self, answers: &Answers, shift_microseconds: u64) {
        for (call, answer) in answers {
            let list = answer.as_array().map(Vec::as_slice).unwrap_or_default();
            if call == EVENTS && answer.is_array() {
                self.events.extend(list.iter().filter_map(Value::as_u64));
            } else if call == SAMPLES && answer.is_array() {
                self.samples.extend(list.iter().filter_map(|pair| {
                    let at = pair.get(0)?.as_u64()? + shift_microseconds;
                    Some((at, pair.get(1)?.as_f64()?))
                }));
                while self.samples.len() > BUFFER {
                    self.samples.pop_front();
                }
            }
            self.answers.insert(call.clone(), answer.clone());
        }
    }

    /// Whether it answers at all.
    pub fn alive(&self) -> Result<(), u32> {
        let everything = self.answers.get("*").and_then(error_in);
        everything.map_or(Ok(()), Err)
    }

    /// An answer of the device.
    pub fn answer(&self, call: &str) -> Result<&Value, u32> {
        self.alive()?;
        let answer = self.answers.get(call).ok_or(FUNCTION_NOT_FOUND)?;
        error_in(answer).map_or(Ok(answer), Err)
    }

    /// An answer that is a number, or yes or no.
    pub fn number(&self, call: &str) -> Result<u64, u32> {
        whole(self.answer(call)?).ok_or(UNKNOWN)
    }

    /// An answer that is `N` numbers.
    pub fn numbers<const N: usize>(&self, call: &str) -> Result<[u64; N], u32> {
        let list = self.answer(call)?.as_array().ok_or(UNKNOWN)?;
        let numbers: Option<Vec<u64>> = list.iter().map(whole).collect();
        numbers.and_then(|n| n.try_into().ok()).ok_or(UNKNOWN)
    }
}

/// How long each sample takes, in seconds of `GPUCOST_NVML_SLOW`.
fn slowness() -> Duration {
    let seconds = std::env::var("GPUCOST_NVML_SLOW").ok();
    let seconds = seconds.and_then(|text| text.parse().ok());
    seconds.map_or(Duration::ZERO, Duration::from_secs)
}

fn whole(value: &Value) -> Option<u64> {
    value.as_bool().map(u64::from).or_else(|| value.as_u64())
}

fn read() -> Result<Player, String> {
    let folder = own_folder();
    let beside = |name: &str| {
        let path = folder.as_ref()?.join(name);
        path.is_file().then_some(path)
    };
    let path = beside("trace.jsonl")
        .or_else(|| std::env::var_os("GPUCOST_NVML_TRACE").map(PathBuf::from))
        .ok_or("no trace.jsonl beside the library, and GPUCOST_NVML_TRACE is not set")?;
    let clock = match beside("clock") {
        Some(path) => std::fs::read_to_string(path).map_err(|error| error.to_string())?,
        None => std::env::var("GPUCOST_NVML_CLOCK").unwrap_or_default(),
    };
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    parse(&text, &clock).map_err(|problem| format!("{}: {problem}", path.display()))
}

fn parse(text: &str, clock: &str) -> Result<Player, String> {
    let mut lines = text.lines().enumerate().map(|(number, line)| {
        let value = serde_json::from_str(line);
        value.map_err(|error| format!("line {}: {error}", number + 1))
    });
    let first: Value = lines.next().ok_or("it is empty")??;
    let object = |value: Option<&Value>| value.and_then(Value::as_object).cloned();
    let rows = first.get("devices").and_then(Value::as_array);
    let mut devices: Vec<Device> = rows
        .ok_or("line 1: no devices")?
        .iter()
        .map(|row| Device {
            gpu: row.get("gpu").and_then(Value::as_u64).unwrap_or(0),
            mig: row.get("mig").and_then(Value::as_u64),
            answers: object(row.get("answers")).unwrap_or_default(),
            samples: VecDeque::new(),
            events: VecDeque::new(),
        })
        .collect();
    for device in &mut devices {
        let answers = std::mem::take(&mut device.answers);
        device.take(&answers, 0);
    }
    let count = devices.len();
    let lines: Result<Vec<Line>, String> = lines
        .map(|line| {
            let line: Value = line?;
            let at = line.get("at").and_then(Value::as_f64);
            let of = |place: usize| object(line.get("devices")?.get(place.to_string()));
            Ok(Line {
                at: at.ok_or("a line of the trace has no `at`")?,
                system: object(line.get("system")).unwrap_or_default(),
                devices: (0..count).map(|n| of(n).unwrap_or_default()).collect(),
            })
        })
        .collect();
    let has = |word: &str| clock.split([' ', ',', '\n']).any(|given| given == word);
    Ok(Player {
        lines: lines?,
        system: object(first.get("system")).unwrap_or_default(),
        devices,
        line: None,
        look: 0,
        rounds: 0,
        is_counted: false,
        is_stepped: has("step"),
        is_looped: has("loop"),
        began: Instant::now(),
    })
}

#[repr(C)]
struct DlInfo {
    file: *const c_char,
    base: *mut c_void,
    symbol: *const c_char,
    address: *mut c_void,
}

unsafe extern "C" {
    fn dladdr(address: *const c_void, info: *mut DlInfo) -> c_int;
}

/// The folder that this library was loaded from.
fn own_folder() -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let mut info = DlInfo {
        file: std::ptr::null(),
        base: std::ptr::null_mut(),
        symbol: std::ptr::null(),
        address: std::ptr::null_mut(),
    };
    let own: fn() -> Option<PathBuf> = own_folder;
    // SAFETY: any address may be asked about, and `info` is one `Dl_info`; the
    // name it is given stays as long as this library is loaded.
    let file = unsafe {
        if dladdr(own as *const c_void, &mut info) == 0 || info.file.is_null() {
            return None;
        }
        CStr::from_ptr(info.file)
    };
    let file = OsString::from_vec(file.to_bytes().to_vec());
    Path::new(&file).parent().map(Path::to_owned)
}
