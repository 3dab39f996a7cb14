import { type DestinationStream, destination, type Logger, pino } from 'pino'
import { findUnavailability } from '../../storage/db/dialect.ts'

export type { Logger } from 'pino'

/** Structured logs on stderr: stdout belongs to what a command prints. */
export function createLogger(level: string, stream: DestinationStream = destination(2)): Logger {
  return pino(
    {
      level,
      redact: ['token', 'authorization', '*.token', '*.authorization', '*.secret'],
      base: null,
      serializers: { err: serializeError },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
    },
    stream,
  )
}

/**
 * Leaves out the stack and the statement of an unavailable database: they say nothing about an outage, and fill the log
 * with each request that fails in it. knex puts the statement before the message.
 */
function serializeError(error: unknown): unknown {
  const reason = findUnavailability(error)
  if (reason === undefined) return pino.stdSerializers.err(error as Error)
  const { code, message } = error as NodeJS.ErrnoException
  return { reason, code, message: message.split(' - ').at(-1) }
}
