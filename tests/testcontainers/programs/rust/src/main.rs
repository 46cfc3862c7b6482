//! Starts the image by Rust's module: `start CALL IMAGE`; ends with standard input.
use std::io::Read;

use testcontainers_modules::kafka::apache::{Kafka, KAFKA_PORT};
use testcontainers_modules::testcontainers::{runners::SyncRunner, ImageExt};

fn main() {
    let image = std::env::args().nth(2).expect("CALL IMAGE");
    let (name, tag) = image.rsplit_once(':').expect("an image with a tag");
    let container = Kafka::default()
        .with_name(name)
        .with_tag(tag)
        .start()
        .expect("a container");
    let port = container.get_host_port_ipv4(KAFKA_PORT).expect("a port");
    println!("BOOTSTRAP 127.0.0.1:{port}");
    std::io::stdin()
        .read_to_end(&mut Vec::new())
        .expect("standard input");
}
