import { createHash, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isJsonObject, parseJson } from '../../core/json.ts'
import { CliError } from '../command/cli-error.ts'

/** The time in which the person must sign in. */
const WAIT_MS = 10 * 60_000
const TIMEOUT_MS = 30_000

const DONE = 'You are signed in. Close this page, and return to the command line.\n'

export interface SignInOptions {
  /** The address of the server. */
  url: string
  workspace?: string | undefined
  /** Shows the address that the person must open. */
  onAddress(address: string): void
  signal?: AbortSignal
}

/**
 * Signs a person in with a browser of this machine (RFC 8252), and returns the token of the session.
 * @throws CliError if the server has no sign-in, or the person does not sign in within ten minutes
 */
export async function signInWithBrowser({ url, workspace, onAddress, signal }: SignInOptions): Promise<string> {
  const login = `${url.replace(/\/+$/, '')}/desk/login`
  const { status } = await fetch(login, { method: 'HEAD', redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) })
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
    const signals = [AbortSignal.timeout(WAIT_MS), ...(signal ? [signal] : [])]
    const code = await withAbort(codes.code, AbortSignal.any(signals))
    return await exchange(`${login.replace(/login$/, 'token')}`, { code, verifier })
  } finally {
    codes.close()
  }
}

/** Whether a token belongs to the session of a person, so that it ends with a logout. */
export const isSessionToken = (token: string) => token.startsWith('pss_')

/** Ends the session of a token. Returns whether the server confirmed the end. */
export async function endSession({ url, token }: { url: string; token: string }): Promise<boolean> {
  try {
    const { ok, status } = await fetch(`${url.replace(/\/+$/, '')}/desk/logout`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    // An unknown session has already ended.
    return ok || status === 401
  } catch {
    // The token is deleted even if the server does not respond, and the session ends when it is idle.
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

async function withAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(new CliError('No one signed in within ten minutes')), { once: true })
  })
  return Promise.race([work, aborted])
}

async function exchange(url: string, body: { code: string; verifier: string }): Promise<string> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  const answer = parseJson(await response.text())
  const token = isJsonObject(answer) ? answer.token : undefined
  if (typeof token === 'string') return token
  throw new CliError(`The sign-in failed (${response.status})`, { hint: 'Run passes login --sso again.' })
}

function randomText(): string {
  return randomBytes(32).toString('base64url')
}
