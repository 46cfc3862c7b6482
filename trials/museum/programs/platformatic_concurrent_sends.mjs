// Three sends of an idempotent producer at once, without waiting for the first.
import { createRequire } from "node:module";

// Newer versions of the client need it, and Node has it since version 22.
Promise.withResolvers ??= function () {
  const parts = {};
  parts.promise = new Promise((resolve, reject) => Object.assign(parts, { resolve, reject }));
  return parts;
};

const { Producer } = await import(
  createRequire(`${process.env.NODE_PATH}/`).resolve("@platformatic/kafka")
);
const producer = new Producer({
  clientId: "museum",
  bootstrapBrokers: process.env.KAFKA_BOOTSTRAP_SERVERS.split(","),
  idempotent: true,
  acks: -1,
  retries: 1,
});
const send = (value) =>
  producer
    .send({ messages: [{ topic: "museum", partition: 0, value: Buffer.from(value) }] })
    .then(
      () => console.log("seen: sent", value),
      (failed) => console.log("seen: failed", value, failed.message),
    );
await Promise.all(["a", "b", "c"].map(send));
await producer.close();
