// Reads a record as a member of a group, and commits it.
import { createRequire } from "node:module";

const { Consumer } = await import(
  createRequire(`${process.env.NODE_PATH}/`).resolve("@platformatic/kafka")
);
const consumer = new Consumer({
  clientId: "museum",
  groupId: "museum",
  bootstrapBrokers: process.env.KAFKA_BOOTSTRAP_SERVERS.split(","),
});
const stream = await consumer.consume({
  topics: ["museum"],
  mode: "earliest",
  autocommit: false,
});
for await (const message of stream) {
  console.log("seen: read", String(message.offset));
  await message.commit();
  break;
}
await consumer.close(true);
process.exit(0);
