import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { request } from 'undici'
import { SIGNATURE_HEADER, sign } from '../../core/rules/crypto/signature.ts'
import { makePrivateFolder, replacePrivateSync } from '../../files/private-file.ts'

/** The application's response; `null` values if the event was not forwarded or no response arrived. */
export interface Forwarded {
  responseCode: number | null
  durationMs: number | null
  error: string | null
}

/** The result for an event that was only shown. */
export const notForwarded: Forwarded = { responseCode: null, durationMs: null, error: null }

/** The same timeout as on the server. */
const FORWARD_TIMEOUT_MS = 15_000

/** Sends an event to an application like a server: the same bytes and headers, with a current signature. */
export async function forward(rawBody: string, to: string, secret: string): Promise<Forwarded> {
  const startedAt = performance.now()
  const tookMs = () => Math.round(performance.now() - startedAt)
  try {
    const { statusCode, body } = await request(to, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'passes-webhooks',
        [SIGNATURE_HEADER]: sign(rawBody, [secret], new Date()),
      },
      body: rawBody,
      signal: AbortSignal.timeout(FORWARD_TIMEOUT_MS),
    })
    await body.dump()
    return { responseCode: statusCode, durationMs: tookMs(), error: null }
  } catch (error) {
    const reason = error instanceof Error ? error.message || ('code' in error ? String(error.code) : error.name) : error
    return { responseCode: null, durationMs: tookMs(), error: String(reason) }
  }
}

/** Local addresses of running listeners: a file for each, named by process id. */

/** Returns a function that removes the file. */
export function announceListener(folder: string, url: string): () => void {
  const file = join(folder, String(process.pid))
  makePrivateFolder(folder)
  replacePrivateSync(file, url)
  return () => rmSync(file, { force: true })
}

/** Returns the addresses of listeners. Removes files of processes that no longer run. */
export function findListeners(folder: string): string[] {
  return filesIn(folder).flatMap((name) => {
    const file = join(folder, name)
    if (isRunning(Number(name))) return [readFileSync(file, 'utf8')]
    rmSync(file, { force: true })
    return []
  })
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => /^\d+$/.test(name))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
