// Two sends of an idempotent producer at once, without waiting for the first.
const { Kafka, logLevel } = require("kafkajs");

async function main() {
  const brokers = [process.env.KAFKA_BOOTSTRAP_SERVERS];
  const kafka = new Kafka({ brokers, clientId: "museum", logLevel: logLevel.NOTHING });
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 5, retry: { retries: 1 } });
  await producer.connect();
  const send = (value) =>
    producer.send({ topic: "museum", messages: [{ value, partition: 0 }] }).then(
      () => console.log("seen: sent", value),
      (failed) => console.log("seen: failed", value, (failed.cause || failed.originalError || failed).type),
    );
  await Promise.all(["a", "b", "c"].map(send));
  await producer.disconnect();
}

main();
