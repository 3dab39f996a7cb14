import { request } from 'undici'
import { onTestFinished } from 'vitest'

export const at = new Date('2026-07-01T12:00:00Z')

export interface JsonAnswer {
  status: number
  headers: Record<string, string | string[] | undefined>
  json: unknown
}

/** Sends a JSON request over a real socket. Returns the response. */
export async function call(
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  url: string,
  json?: unknown,
  headers: Record<string, string> = {},
): Promise<JsonAnswer> {
  const answer = await request(url, {
    method,
    headers: { ...headers, ...(json !== undefined && { 'content-type': 'application/json' }) },
    body: json === undefined ? null : JSON.stringify(json),
  })
  const text = await answer.body.text()
  return { status: answer.statusCode, headers: answer.headers, json: text === '' ? undefined : JSON.parse(text) }
}

/** Returns the lines of a stream as they arrive. */
export async function listen(url: string): Promise<() => Promise<unknown>> {
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  const { body } = await request(url, { signal: stop.signal })
  const lines = (async function* () {
    let text = ''
    for await (const chunk of body) {
      text += chunk
      const complete = text.split('\n')
      text = complete.pop() ?? ''
      yield* complete
    }
  })()
  return async () => JSON.parse((await lines.next()).value ?? 'null')
}
