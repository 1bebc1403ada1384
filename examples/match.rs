// SPDX-License-Identifier: Apache-2.0
//! Matches a synthetic pair through the C interface. With the library installed:
//!
//!     rustc match.rs -l parallax && ./match
use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_int, c_void};
use std::ptr::{null, null_mut};

#[repr(C)]
struct Image {
    struct_size: usize,
    data: *const c_void,
    width: i32,
    height: i32,
    stride_bytes: i64,
    value_type: c_int,
    channels: i32,
}

#[repr(C)]
struct Pair {
    struct_size: usize,
    left: *const Image,
    right: *const Image,
    left_mask: *const Image,
    right_mask: *const Image,
    costs: *const Image,
}

#[repr(C)]
struct Map {
    struct_size: usize,
    disparity: *const Image,
    status: *const Image,
    confidence: *const Image,
}

enum Matcher {}

extern "C" {
    fn parallax_error_message() -> *const c_char;
    fn parallax_matcher_create(method: *const c_char, preset: *const c_char, matcher: *mut *mut Matcher) -> c_int;
    fn parallax_matcher_set_int(matcher: *mut Matcher, name: *const c_char, value: i64) -> c_int;
    fn parallax_matcher_plan(matcher: *mut Matcher, width: i32, height: i32, value_type: c_int) -> c_int;
    fn parallax_matcher_run(matcher: *mut Matcher, pair: *const Pair, map: *const Map) -> c_int;
    fn parallax_matcher_release(matcher: *mut Matcher);
    fn parallax_synthesize(
        scene: *const c_char,
        disparities: i32,
        seed: u64,
        left: *const Image,
        right: *const Image,
        truth: *const Image,
    ) -> c_int;
}

const WIDTH: usize = 320;
const HEIGHT: usize = 240;
const UINT8: c_int = 8;
const FLOAT32: c_int = 32;

/// A view of rows without gaps.
fn image<T>(pixels: &mut [T], value_type: c_int) -> Image {
    let channels = pixels.len() / (WIDTH * HEIGHT);
    Image {
        struct_size: std::mem::size_of::<Image>(),
        data: pixels.as_mut_ptr() as *const c_void,
        width: WIDTH as i32,
        height: HEIGHT as i32,
        stride_bytes: (WIDTH * channels * std::mem::size_of::<T>()) as i64,
        value_type,
        channels: channels as i32,
    }
}

fn check(code: c_int) -> Result<(), String> {
    if code == 0 {
        return Ok(());
    }
    Err(unsafe { CStr::from_ptr(parallax_error_message()) }.to_string_lossy().into_owned())
}

fn main() -> Result<(), String> {
    let text = |text: &str| CString::new(text).unwrap();
    let (mut left, mut right) = (vec![0u8; 3 * WIDTH * HEIGHT], vec![0u8; 3 * WIDTH * HEIGHT]);
    let (mut truth, mut disparity) = (vec![0f32; WIDTH * HEIGHT], vec![0f32; WIDTH * HEIGHT]);
    let mut status = vec![0u8; WIDTH * HEIGHT];
    let (left_view, right_view) = (image(&mut left, UINT8), image(&mut right, UINT8));
    let truth_view = image(&mut truth, FLOAT32);
    let (disparity_view, status_view) = (image(&mut disparity, FLOAT32), image(&mut status, UINT8));
    let pair = Pair {
        struct_size: std::mem::size_of::<Pair>(),
        left: &left_view,
        right: &right_view,
        left_mask: null(),
        right_mask: null(),
        costs: null(),
    };
    let map = Map {
        struct_size: std::mem::size_of::<Map>(),
        disparity: &disparity_view,
        status: &status_view,
        confidence: null(),
    };
    unsafe {
        check(parallax_synthesize(text("layers").as_ptr(), 32, 1, &left_view, &right_view, &truth_view))?;
        let mut matcher = null_mut();
        check(parallax_matcher_create(text("census").as_ptr(), null(), &mut matcher))?;
        check(parallax_matcher_set_int(matcher, text("disparities").as_ptr(), 32))?;
        check(parallax_matcher_plan(matcher, WIDTH as i32, HEIGHT as i32, UINT8))?;
        check(parallax_matcher_run(matcher, &pair, &map))?;
        parallax_matcher_release(matcher);
    }
    let wrong = disparity.iter().zip(&truth).filter(|(found, exact)| (*found - *exact).abs() > 1.0).count();
    println!("{:.1} % of the pixels are off by more than a pixel", 100.0 * wrong as f64 / truth.len() as f64);
    Ok(())
}
