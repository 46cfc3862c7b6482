// A consumer seeks in both partitions of a topic, and reads on from there.
const { Kafka, logLevel } = require("kafkajs");

async function main() {
  const brokers = [process.env.KAFKA_BOOTSTRAP_SERVERS];
  const kafka = new Kafka({ brokers, clientId: "museum", logLevel: logLevel.NOTHING });
  const consumer = kafka.consumer({ groupId: "museum", maxWaitTimeInMs: 100 });
  await consumer.connect();
  await consumer.subscribe({ topic: "museum", fromBeginning: true });
  const last = new Set();
  await new Promise((done) => {
    consumer.run({
      autoCommit: false,
      eachMessage: async ({ partition, message }) => {
        console.log("seen: read", partition, message.offset);
        if (message.value.toString() === "last") last.add(partition);
        if (last.size === 2) done();
      },
    });
    consumer.seek({ topic: "museum", partition: 0, offset: "2" });
    consumer.seek({ topic: "museum", partition: 1, offset: "2" });
  });
  await consumer.disconnect();
}

main();
