// A send to a topic that is forbidden, and one to a topic that is allowed.
const { Kafka, logLevel } = require("kafkajs");

async function main() {
  const brokers = [process.env.KAFKA_BOOTSTRAP_SERVERS];
  const kafka = new Kafka({ brokers, clientId: "museum", logLevel: logLevel.NOTHING });
  const producer = kafka.producer({ retry: { retries: 0 } });
  await producer.connect();
  for (const topic of ["forbidden", "museum"]) {
    try {
      await producer.send({ topic, messages: [{ value: "a", partition: 0 }] });
      console.log("seen: sent", topic);
    } catch (failed) {
      console.log("seen: failed", topic, (failed.cause || failed).type || failed.message);
    }
  }
  await producer.disconnect();
}

main();
