// Copies a topic exactly once with kafkajs.
//
// It runs against any Kafka, and is a program for `ottla conform -- node main.js`.
const { Kafka, logLevel } = require('kafkajs')

const INPUT = process.env.OTTLA_INPUT
const OUTPUT = process.env.OTTLA_OUTPUT
const GROUP = process.env.OTTLA_GROUP
const RECORDS = Number(process.env.OTTLA_RECORDS)
const MOST = 10

const kafka = new Kafka({ brokers: process.env.OTTLA_BOOTSTRAP.split(','), logLevel: logLevel.WARN })
const consumer = kafka.consumer({ groupId: GROUP, readUncommitted: false, maxWaitTimeInMs: 300 })
const producer = kafka.producer({
  transactionalId: process.env.OTTLA_TRANSACTIONAL_ID, idempotent: true, maxInFlightRequests: 1
})
let copied = 0

/** Copies messages in one transaction; false if it was aborted. */
async function isCopied (messages, partition) {
  const transaction = await producer.transaction()
  try {
    const copies = messages.map(({ key, value }) => ({ key, value }))
    await transaction.send({ topic: OUTPUT, messages: copies })
    const offset = String(BigInt(messages.at(-1).offset) + 1n)
    const topics = [{ topic: INPUT, partitions: [{ partition, offset }] }]
    await transaction.sendOffsets({ consumerGroupId: GROUP, topics })
    await transaction.commit()
    return true
  } catch (failed) {
    console.error(failed.message)
    await transaction.abort()
    return false
  }
}

/** Copies a batch; after an aborted transaction the rest of it is read again. */
async function copyBatch ({ batch, resolveOffset, heartbeat, isRunning, isStale }, done) {
  for (let first = 0; first < batch.messages.length; first += MOST) {
    if (!isRunning() || isStale()) return
    const messages = batch.messages.slice(first, first + MOST)
    if (!await isCopied(messages, batch.partition)) {
      consumer.seek({ topic: INPUT, partition: batch.partition, offset: messages[0].offset })
      return
    }
    resolveOffset(messages.at(-1).offset)
    await heartbeat()
    copied += messages.length
    if (copied >= RECORDS) done()
  }
}

async function main () {
  await Promise.all([consumer.connect(), producer.connect()])
  await consumer.subscribe({ topics: [INPUT], fromBeginning: true })
  await new Promise((resolve, reject) => {
    consumer.on(consumer.events.CRASH, ({ payload }) => payload.restart || reject(payload.error))
    consumer.run({
      autoCommit: false, eachBatchAutoResolve: false, eachBatch: batch => copyBatch(batch, resolve)
    }).catch(reject)
  })
  await consumer.disconnect()
  await producer.disconnect()
}

main().catch(failed => {
  console.error(failed)
  process.exit(1)
})
