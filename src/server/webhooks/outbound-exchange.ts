import type { Dispatcher } from 'undici'

/** One request on its way out. */
export interface OutboundRequest {
  url: URL
  body: string
  headers: Record<string, string>
}

export interface ExchangeLimits {
  /** For the whole of it: finding the host, connecting, sending and reading the answer. */
  timeoutMs: number
  /** So much of an answer is read. */
  maxAnswerBytes: number
}

/** No status came in time. */
export class LateAnswerError extends Error {
  override readonly name = 'LateAnswerError'
}

/**
 * POSTs once and returns the status, as soon as the answer is read or is not read any further. The status is the answer: a
 * body that is too long or does not end takes nothing from it.
 * @throws LateAnswerError, or whatever undici says
 */
export function exchange(agent: Dispatcher, request: OutboundRequest, limits: ExchangeLimits): Promise<number> {
  const { url, body, headers } = request
  const target = { origin: url.origin, path: url.pathname + url.search }
  return new Promise((resolve, reject) => {
    agent.dispatch({ ...target, method: 'POST', body, headers }, new Exchange(limits, resolve, reject))
  })
}

/** Undici's own `request` makes a stream and an abort signal for each answer: much, where only a status is asked for. */
class Exchange implements Dispatcher.DispatchHandler {
  private readonly limits: ExchangeLimits
  private readonly resolve: (statusCode: number) => void
  private readonly reject: (error: Error) => void
  private readonly timer: NodeJS.Timeout
  private late: LateAnswerError | undefined
  private request: Dispatcher.DispatchController | undefined
  private statusCode: number | undefined
  private answerBytes = 0

  constructor(limits: ExchangeLimits, resolve: (statusCode: number) => void, reject: (error: Error) => void) {
    this.limits = limits
    this.resolve = resolve
    this.reject = reject
    this.timer = setTimeout(giveUp, limits.timeoutMs, this)
  }

  /** A request that has not begun yet is stopped when it does. */
  giveUp(): void {
    this.late = new LateAnswerError()
    this.onResponseError(this.request, this.late)
    this.request?.abort(this.late)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.request = controller
    if (this.late) controller.abort(this.late)
  }

  onResponseStart(_: unknown, statusCode: number): void {
    // Those below announce the answer.
    if (statusCode >= 200) this.statusCode = statusCode
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.answerBytes += chunk.length
    if (this.answerBytes > this.limits.maxAnswerBytes) controller.abort(new Error('The answer is too long.'))
  }

  onResponseEnd(): void {
    clearTimeout(this.timer)
    this.resolve(this.statusCode!)
  }

  onResponseError(_: unknown, error: Error): void {
    clearTimeout(this.timer)
    if (this.statusCode === undefined) this.reject(error)
    else this.resolve(this.statusCode)
  }
}

function giveUp(exchange: Exchange): void {
  exchange.giveUp()
}
