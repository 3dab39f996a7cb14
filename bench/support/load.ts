import { fork } from 'node:child_process'
import type { BenchServer } from './server.ts'

/** What `load.js` sends to one path of a server: each body once, so many in flight. */
export interface Order {
  path: string
  bodies: string[]
  inFlight: number
  /** A text that each answer must hold. */
  expected: string
}

/** A client in a process of its own. */
export interface LoadClient {
  /** @returns how long all took in seconds, and each in milliseconds */
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
