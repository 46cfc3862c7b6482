//! Copies a topic with rskafka, which has neither groups nor transactions: at least once.
//!
//! It runs against any Kafka, and is a program for `ottla conform --at-least-once -- ./copy-rskafka`.

use rskafka::client::partition::{Compression, OffsetAt, UnknownTopicHandling};
use rskafka::client::ClientBuilder;
use rskafka::record::Record;

type Failure = Box<dyn std::error::Error>;

const WAIT_MS: i32 = 300;
const MOST_BYTES: i32 = 1_000_000;

fn variable(name: &str) -> Result<String, Failure> {
    std::env::var(format!("OTTLA_{name}")).map_err(|missing| format!("OTTLA_{name}: {missing}").into())
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let cluster = variable("BOOTSTRAP")?.split(',').map(str::to_owned).collect();
    let wanted: usize = variable("RECORDS")?.parse()?;
    let client = ClientBuilder::new(cluster).client_id("copy-rskafka").build().await?;
    let input = client
        .partition_client(variable("INPUT")?, 0, UnknownTopicHandling::Retry)
        .await?;
    let output = client
        .partition_client(variable("OUTPUT")?, 0, UnknownTopicHandling::Retry)
        .await?;
    let mut offset = input.get_offset(OffsetAt::Earliest).await?;
    let mut copied = 0;
    while copied < wanted {
        let (found, _) = input.fetch_records(offset, 1..MOST_BYTES, WAIT_MS).await?;
        let Some(last) = found.last() else { continue };
        offset = last.offset + 1;
        copied += found.len();
        let records: Vec<Record> = found.into_iter().map(|each| each.record).collect();
        output.produce(records, Compression::NoCompression).await?;
    }
    Ok(())
}
