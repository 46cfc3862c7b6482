// Sends a tombstone: a key without a value.
import { createRequire } from "node:module";

const { Producer } = await import(
  createRequire(`${process.env.NODE_PATH}/`).resolve("@platformatic/kafka")
);
const producer = new Producer({
  clientId: "museum",
  bootstrapBrokers: process.env.KAFKA_BOOTSTRAP_SERVERS.split(","),
});
await producer.send({
  messages: [{ topic: "museum", partition: 0, key: Buffer.from("order-1"), value: undefined }],
});
console.log("seen: sent");
await producer.close();
