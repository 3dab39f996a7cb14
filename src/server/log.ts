import { type DestinationStream, destination, type Logger, pino } from 'pino'
import { findUnavailability } from '../storage/db/database-errors.ts'
import { createLineLimit, monotonicSeconds } from './line-limit.ts'

export type { Logger } from 'pino'

/** Creates a logger on stderr. Logs the same failure at most once a minute, and the number of omitted lines. */
export function createLogger(
  level: string,
  stream: DestinationStream = destination(2),
  now: () => number = monotonicSeconds,
): Logger {
  const repeated = createLineLimit(
    (leftOut, failures) => log.warn({ leftOut, failures }, `${leftOut} lines about repeated failures were left out`),
    { linesBySource: 1, now },
  )
  const log = pino(
    {
      level,
      redact: ['token', 'authorization', 'cookie', '*.token', '*.authorization', '*.cookie', '*.secret'],
      base: null,
      serializers: { err: serializeError },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      hooks: {
        logMethod(args, method) {
          const failure = repeatableFailure(args)
          if (failure === undefined || repeated.admits(failure)) method.apply(this, args)
        },
      },
    },
    stream,
  )
  return log
}

/**
 * Returns a key for a failure whose repeated log lines can be omitted: the line has no facts except an error, or the
 * database is unavailable. Returns undefined for other lines.
 */
function repeatableFailure([facts, message]: readonly unknown[]): string | undefined {
  const { err } = (facts ?? {}) as { err?: unknown }
  if (!(err instanceof Error)) return undefined
  if (findUnavailability(err) === undefined && Object.keys(facts as object).length > 1) return undefined
  return `${message}: ${(err as NodeJS.ErrnoException).code ?? err.message}`
}

/**
 * Serializes an error for the log. If the database is unavailable, omits the stack and the SQL statement: they do not
 * explain the outage, and every failing request would log them. knex puts the statement before the message.
 */
function serializeError(error: unknown): unknown {
  const reason = findUnavailability(error)
  if (reason === undefined) return pino.stdSerializers.err(error as Error)
  const { code, message } = error as NodeJS.ErrnoException
  return { reason, code, message: message.split(' - ').at(-1) }
}
