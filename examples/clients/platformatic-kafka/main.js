// Copies a topic exactly once with @platformatic/kafka.
//
// It runs against any Kafka, and is a program for `ottla conform -- node main.js`.
import { Consumer, FetchIsolationLevels, MessagesStreamModes, Producer } from '@platformatic/kafka'

// The client needs it, and Node has it since version 22.
Promise.withResolvers ??= function () {
  const found = {}
  found.promise = new Promise((resolve, reject) => Object.assign(found, { resolve, reject }))
  return found
}

const INPUT = process.env.OTTLA_INPUT
const OUTPUT = process.env.OTTLA_OUTPUT
const RECORDS = Number(process.env.OTTLA_RECORDS)
const MOST = 10
const ABORTED_AT_MOST = 20

const cluster = { bootstrapBrokers: process.env.OTTLA_BOOTSTRAP.split(','), retries: 20 }
const consumer = new Consumer({
  ...cluster,
  clientId: 'copy-consumer',
  groupId: process.env.OTTLA_GROUP,
  groupProtocol: process.env.COPY_GROUP_PROTOCOL ?? 'classic'
})
const producer = new Producer({
  ...cluster,
  clientId: 'copy-producer',
  transactionalId: process.env.OTTLA_TRANSACTIONAL_ID,
  idempotent: true
})

/** Copies messages in one transaction; false if it was aborted. */
async function isCopied (messages) {
  const transaction = await producer.beginTransaction()
  try {
    await transaction.addConsumer(consumer)
    const copies = messages.map(({ key, value }) => ({ topic: OUTPUT, key, value }))
    await transaction.send({ messages: copies })
    await transaction.addOffset(messages.at(-1))
    await transaction.commit()
    return true
  } catch (failed) {
    console.error(failed.message)
    await transaction.abort()
    return false
  }
}

/** Reads from the committed offsets on; what comes waits in `waiting`. */
async function open () {
  const stream = await consumer.consume({
    topics: [INPUT],
    mode: MessagesStreamModes.COMMITTED,
    fallbackMode: 'earliest',
    isolationLevel: FetchIsolationLevels.READ_COMMITTED,
    autocommit: false,
    maxWaitTime: 300
  })
  const waiting = []
  stream.on('data', message => waiting.push(message))
  stream.on('error', failed => console.error(failed))
  return { stream, waiting }
}

async function main () {
  let { stream, waiting } = await open()
  let aborted = 0
  for (let copied = 0; copied < RECORDS;) {
    await new Promise(resolve => setTimeout(resolve, 20))
    const messages = waiting.splice(0, MOST)
    if (messages.length > 0 && await isCopied(messages)) {
      copied += messages.length
      aborted = 0
    } else if (messages.length > 0 || stream.errored) {
      if (++aborted > ABORTED_AT_MOST) throw new Error('too many transactions were aborted')
      await stream.close()
      ;({ stream, waiting } = await open())
    }
  }
  await stream.close()
  await consumer.close()
  await producer.close()
}

main().catch(failed => {
  console.error(failed)
  process.exit(1)
})
