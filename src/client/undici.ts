import { createRequire } from 'node:module'
import type { Dispatcher, errors as Errors, Agent as UndiciAgent } from 'undici'

/**
 * The part of undici that sends requests. Its index loads fetch, WebSocket, mocks and caches as well, which takes longer than a
 * small request does, and every command of the command line would wait for it.
 */
const require = createRequire(import.meta.url)

/** undici's dispatcher with its pools of connections. */
export const Agent: typeof UndiciAgent = require('undici/lib/dispatcher/agent.js')
/** The classes of undici's errors. */
export const errors: typeof Errors = require('undici/lib/core/errors.js')

const api: {
  request(this: Dispatcher, options: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData>
} = require('undici/lib/api/index.js')

/** Sends a request to the address of `origin`. */
export function request(dispatcher: Dispatcher, options: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData> {
  return api.request.call(dispatcher, options)
}
