import { createConnection } from 'node:net'

/**
 * Sends requests from a process of its own, so that what a client costs is not taken from the server's time: so many
 * connections that are kept, each with one request in flight. It reads no more of an answer than its status, where it ends
 * and whether it holds an expected text. Its parent sends `{ port, token, path, bodies, inFlight, expected }`, as often as it
 * likes, and receives `{ seconds, times }` in milliseconds for each body, or `{ error }`. Ends with its parent.
 */
const HEAD_END = '\r\n\r\n'

process.on('message', async (order) => {
  try {
    process.send(await run(order))
  } catch (error) {
    process.send({ error: error.message })
  }
})
process.on('disconnect', () => process.exit())

async function run({ port, token, path, bodies, inFlight, expected }) {
  const head = `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\n`
  const waiting = bodies.values()
  const times = []
  const connections = await Promise.all(Array.from({ length: inFlight }, () => connect(port)))
  const startedAt = performance.now()
  await Promise.all(
    connections.map(async (connection) => {
      for (const body of waiting) {
        const sentAt = performance.now()
        const answer = await connection.ask(`${head}content-length: ${Buffer.byteLength(body)}${HEAD_END}${body}`)
        times.push(performance.now() - sentAt)
        if (!answer.includes(expected)) throw new Error(`${body.slice(0, 200)} was answered ${answer}`)
      }
    }),
  )
  const seconds = (performance.now() - startedAt) / 1000
  for (const connection of connections) connection.end()
  return { seconds, times }
}

function connect(port) {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ port, host: '127.0.0.1' })
    let text = ''
    let answered
    socket.setNoDelay().setEncoding('utf8')
    socket.on('error', reject)
    socket.on('close', () => answered?.(`nothing more: the connection ended behind ${text}`))
    socket.on('data', (chunk) => {
      text += chunk
      const headEnd = text.indexOf(HEAD_END)
      if (headEnd === -1) return
      const body = text.slice(headEnd + HEAD_END.length)
      const length = Number(/content-length: *(\d+)/i.exec(text.slice(0, headEnd))?.[1])
      const isWhole = Number.isNaN(length) ? text.endsWith('0\r\n\r\n') : Buffer.byteLength(body) >= length
      if (!isWhole) return
      const answer = text
      text = ''
      answered(answer)
    })
    const ask = (request) =>
      new Promise((resolveAnswer) => {
        answered = resolveAnswer
        socket.write(request)
      })
    socket.on('connect', () => resolve({ ask, end: () => socket.end() }))
  })
}
