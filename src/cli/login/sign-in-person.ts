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

/** The time by which each request to slow down extends the interval of polls (RFC 8628, section 3.5). */
const SLOW_DOWN_MS = 5_000

const LATE = 'No one signed in in time. Run passes login --sso again'

const DONE = 'You are signed in. Close this page, and return to the command line.\n'

export interface SignInOptions {
  url: string
  workspace?: string | undefined
  /** Shows the address that the person must open in a browser of this machine. */
  onAddress(address: string): void
  /** Shows the address that the person can open on any device, and the code to enter there. */
  onDevice(address: string, code: string): void
}

/**
 * Signs a person in, and returns the token of the session. If the provider supports device authorization (RFC 8628),
 * the person can use a browser on any device. Otherwise, the person needs a browser on this machine (RFC 8252).
 * @throws CliError if the server has no sign-in, or the person does not sign in within ten minutes
 * @throws ConnectionError if the server does not respond
 */
export async function signInPerson(options: SignInOptions): Promise<string> {
  const desk = `${options.url.replace(/\/+$/, '')}/desk`
  return (await signInOnDevice(desk, options)) ?? signInWithBrowser(desk, options)
}

/** Returns `undefined` if the provider does not support device authorization. */
async function signInOnDevice(desk: string, { workspace, onDevice }: SignInOptions): Promise<string | undefined> {
  const { status, answer: begun } = await post(`${desk}/device`, { workspace })
  const { userCode, verificationUri, handle } = begun
  if (status !== 200) return undefined
  onDevice(String(verificationUri), String(userCode))
  const end = Date.now() + Math.min(Number(begun.expiresIn) * 1000, WAIT_MS)
  let intervalMs = Math.min(Math.max(Number(begun.interval), 1), 60) * 1000
  while (Date.now() < end) {
    await sleep(intervalMs)
    const { status, answer } = await post(`${desk}/device/token`, { handle })
    if (typeof answer.token === 'string') return answer.token
    if (answer.mustSlowDown === true) intervalMs += SLOW_DOWN_MS
    if (status !== 202 && status < 500 && status !== 429) throw new CliError(`The sign-in failed: ${answer.message}`)
  }
  throw new CliError(LATE)
}

async function signInWithBrowser(desk: string, { url, workspace, onAddress }: SignInOptions): Promise<string> {
  const login = `${desk}/login`
  const { status } = await send(login, { method: 'HEAD' })
  if (status === 404) {
    throw new CliError(`${url} has no sign-in for people`, {
      hint: 'Log in with a token, or ask the operator to set --oidc-issuer.',
    })
  }
  const [state, verifier] = [randomText(), randomText()]
  const codes = await listenForCode(state)
  try {
    const challenge = createHash('sha256').update(verifier).digest('base64url')
    const query = new URLSearchParams({ port: String(codes.port), state, challenge, ...(workspace && { workspace }) })
    onAddress(`${login}?${query}`)
    const code = await withTimeout(codes.code)
    const { status, answer } = await post(`${desk}/token`, { code, verifier })
    if (typeof answer.token === 'string') return answer.token
    throw new CliError(`The sign-in failed (${status})`, { hint: 'Run passes login --sso again.' })
  } finally {
    codes.close()
  }
}

/** Whether a token belongs to the session of a person, so that it ends with a logout. */
export const isSessionToken = (token: string) => token.startsWith('pss_')

/** Ends the session of a token. Returns whether the server confirmed the end. */
export async function endSession({ url, token }: { url: string; token: string }): Promise<boolean> {
  try {
    const { status } = await send(`${url.replace(/\/+$/, '')}/desk/logout`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
    })
    // Treat an unknown session as ended.
    return status === 200 || status === 401
  } catch {
    // Ignore the error: the token is deleted even if the server does not respond, and an idle session ends on its own.
    return false
  }
}

/** Listens on loopback for the redirect of the server. Ignores requests without the state. */
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
    throw new CliError(LATE)
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
