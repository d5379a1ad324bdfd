//! Has the lock use shuttle's threads.

fn main() {
    println!("cargo:rustc-cfg=shuttle");
}
