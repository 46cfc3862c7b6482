// A transaction without records is committed.
const { Kafka, logLevel } = require("kafkajs");

async function main() {
  const brokers = [process.env.KAFKA_BOOTSTRAP_SERVERS];
  const kafka = new Kafka({ brokers, clientId: "museum", logLevel: logLevel.NOTHING });
  const producer = kafka.producer({
    transactionalId: "shop",
    idempotent: true,
    maxInFlightRequests: 1,
    retry: { retries: 1 },
  });
  await producer.connect();
  const transaction = await producer.transaction();
  try {
    await transaction.commit();
    console.log("seen: committed");
  } catch (failed) {
    console.log("seen: failed", (failed.cause || failed).type || failed.message);
  }
  await producer.disconnect();
}

main();
