/** The parts of the provider that tests use. The package has no types. */
declare module 'oidc-provider' {
  import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

  export default class Provider {
    constructor(issuer: string, configuration: object)
    callback(): RequestListener
    interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<{ prompt: { name: string } }>
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>
    on(event: string, listener: (...args: never[]) => void): void
  }
}
