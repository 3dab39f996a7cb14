import { type DestinationStream, destination, type Logger, pino } from 'pino'

export type { Logger } from 'pino'

/** Structured logs on stderr: stdout belongs to what a command prints. */
export function createLogger(level: string, stream: DestinationStream = destination(2)): Logger {
  return pino(
    {
      level,
      redact: ['token', 'authorization', '*.token', '*.authorization', '*.secret'],
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
    },
    stream,
  )
}
