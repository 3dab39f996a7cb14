import { createHash, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { ConnectionError } from '../../client/client-errors.ts'
import { isJsonObject } from '../../core/json.ts'
import { CliError } from '../command/cli-error.ts'
import { type Answer, type Call, call } from '../device/http.ts'

/** The time in which the person must sign in, in milliseconds. */
const WAIT_MS = 10 * 60_000

/** The time by which the polling interval grows each time the provider responds `slow_down` (RFC 8628, section 3.5). */
const SLOW_DOWN_MS = 5_000

const LATE = 'The sign-in timed out'

const RETRY = 'Run "passes login --sso" again. If the provider shows an error, use a browser of this machine.'

const DONE = 'You are signed in. Close this page, and return to the command line.\n'

export interface SignInOptions {
  url: string
  workspace?: string | undefined
  /** Shows the address for a browser on this machine and, if the provider supports it, the address for any device. */
  onAddress(address: string, device: DeviceAddress | undefined): void
}

export interface DeviceAddress {
  address: string
  /** The code that the person enters at the address. */
  code: string
}

/**
 * Signs a person in, and returns the token of the session. The person can use a browser on this machine (RFC 8252). If
 * the provider supports device authorization (RFC 8628), the person can also use any other device. Waits for both ways
 * at the same time, because a provider does not report if an organization forbids other devices.
 * @throws CliError if the server has no sign-in, or the person does not sign in within ten minutes
 * @throws ConnectionError if the server does not respond
 */
export async function signInPerson({ url, workspace, onAddress }: SignInOptions): Promise<string> {
  const desk = `${url.replace(/\/+$/, '')}/desk`
  const begun = await beginOnDevice(desk, workspace)
  if (!begun && (await send(`${desk}/login`, { method: 'HEAD' })).status === 404) {
    throw new CliError(`${url} has no sign-in for people`, {
      hint: 'Log in with a token, or ask the operator to set --oidc-issuer.',
    })
  }
  const [state, verifier] = [randomText(), randomText()]
  const codes = await listenForCode(state)
  const ended = new AbortController()
  try {
    const challenge = createHash('sha256').update(verifier).digest('base64url')
    const query = new URLSearchParams({ port: String(codes.port), state, challenge, ...(workspace && { workspace }) })
    onAddress(`${desk}/login?${query}`, begun?.device)
    const tokens = [codes.code.then((code) => exchangeCode(desk, code, verifier))]
    if (begun) tokens.push(pollDevice(desk, begun, ended.signal))
    return await withTimeout(Promise.race(tokens))
  } finally {
    ended.abort()
    codes.close()
  }
}

async function exchangeCode(desk: string, code: string, verifier: string): Promise<string> {
  const { status, answer } = await post(`${desk}/token`, { code, verifier })
  if (typeof answer.token === 'string') return answer.token
  throw new CliError(`The sign-in failed (${status})`, { hint: 'Run "passes login --sso" again.' })
}

interface BegunOnDevice {
  device: DeviceAddress
  handle: unknown
  expiresMs: number
  intervalMs: number
}

/** Starts device authorization; `undefined` if the provider does not support device authorization. */
async function beginOnDevice(desk: string, workspace: string | undefined): Promise<BegunOnDevice | undefined> {
  const { status, answer } = await post(`${desk}/device`, { workspace })
  if (status !== 200) return undefined
  const { userCode, verificationUri, handle, expiresIn, interval } = answer
  return {
    device: { address: String(verificationUri), code: String(userCode) },
    handle,
    expiresMs: Number(expiresIn) * 1000,
    intervalMs: Math.min(Math.max(Number(interval), 1), 60) * 1000,
  }
}

async function pollDevice(desk: string, begun: BegunOnDevice, signal: AbortSignal): Promise<string> {
  const end = Date.now() + begun.expiresMs
  let { intervalMs } = begun
  while (Date.now() < end) {
    await sleep(intervalMs, undefined, { signal })
    const { status, answer } = await post(`${desk}/device/token`, { handle: begun.handle })
    if (typeof answer.token === 'string') return answer.token
    if (answer.mustSlowDown === true) intervalMs += SLOW_DOWN_MS
    if (status !== 202 && status < 500 && status !== 429) {
      throw new CliError(`The sign-in failed: ${answer.message}`, { hint: RETRY })
    }
  }
  throw new CliError(LATE, { hint: RETRY })
}

/** Whether a token belongs to the session of a person. Such a token ends with a logout. */
export const isSessionToken = (token: string) => token.startsWith('pss_')

/** Ends the session of a token. Returns whether the server confirmed the end. */
export async function endSession({ url, token }: { url: string; token: string }): Promise<boolean> {
  try {
    const { status } = await send(`${url.replace(/\/+$/, '')}/desk/logout`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
    })
    // Treat 401 as success: the server does not know the session, so the session has ended.
    return status === 200 || status === 401
  } catch {
    // Ignore the error: the caller has already deleted the token, and the server ends the session when it is idle.
    return false
  }
}

/** Listens on loopback for the redirect of the server. Ignores requests without the expected state. */
async function listenForCode(state: string) {
  let resolve: (code: string) => void = () => undefined
  const code = new Promise<string>((done) => {
    resolve = done
  })
  const server = createServer((request, response) => {
    const query = new URL(request.url ?? '/', 'http://127.0.0.1').searchParams
    const found = query.get('state') === state ? query.get('code') : null
    response.writeHead(found === null ? 404 : 200, {
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      connection: 'close',
    })
    response.end(found === null ? 'Not found.\n' : DONE)
    if (found !== null) resolve(found)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return { port: (server.address() as AddressInfo).port, code, close: () => server.close() }
}

async function withTimeout<T>(work: Promise<T>): Promise<T> {
  const late = new AbortController()
  const aborted = sleep(WAIT_MS, undefined, { signal: late.signal }).then(() => {
    throw new CliError(LATE, { hint: RETRY })
  })
  return Promise.race([work, aborted]).finally(() => late.abort())
}

async function post(url: string, body: object): Promise<{ status: number; answer: Record<string, unknown> }> {
  const { status, json } = await send(url, { method: 'POST', json: body })
  return { status, answer: isJsonObject(json) ? json : {} }
}

async function send(url: string, request: Call): Promise<Answer> {
  try {
    return await call(url, request)
  } catch (error) {
    throw new ConnectionError(url, (error as Error).cause)
  }
}

function randomText(): string {
  return randomBytes(32).toString('base64url')
}
