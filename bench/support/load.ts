import { fork } from 'node:child_process'
import type { BenchServer } from './server.ts'

/** Requests that `load.js` sends to one path of a server, one for each body. */
export interface Order {
  path: string
  bodies: string[]
  inFlight: number
  /** The text that each response must contain. */
  expected: string
}

/** A client in a separate process. */
export interface LoadClient {
  /** @returns the duration of all requests in seconds, and of each request in milliseconds */
  send(order: Order): Promise<{ seconds: number; times: number[] }>
  stop(): void
}

export function startLoadClient({ url, token }: BenchServer): LoadClient {
  const child = fork(new URL('load.js', import.meta.url))
  return {
    send: (order) =>
      new Promise((resolve, reject) => {
        child.once('message', (result: { error?: string; seconds: number; times: number[] }) => {
          if (result.error) reject(new Error(result.error))
          else resolve(result)
        })
        child.send({ ...order, port: Number(new URL(url).port), token })
      }),
    stop: () => child.disconnect(),
  }
}

export function percentile(values: number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))]!
}
