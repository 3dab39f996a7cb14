import { Flags, type Interfaces } from '@oclif/core'
import { type Client, type ClientOptions, createClient, TimeoutError } from '../../client/client.ts'
import { DEFAULT_TIMEOUT_SECONDS, MAX_TIMEOUT_SECONDS } from '../../client/client-errors.ts'
import { askable, askForNames, resolveNames } from '../arguments/named.ts'
import {
  type Connection,
  type ConnectionFlags,
  canAnimate,
  defaultUrl,
  resolveConnection,
} from '../settings/settings.ts'
import { BaseCommand } from './base-command.ts'
import { UsageError } from './cli-error.ts'
import { describeFailure, type Failure } from './failure.ts'
import { canAsk } from './prompt.ts'

export abstract class ClientCommand extends BaseCommand {
  static override baseFlags = {
    ...BaseCommand.baseFlags,
    url: Flags.string({
      summary: `Address of the server (PASSES_URL; default: ${defaultUrl}).`,
      helpGroup: 'CONNECTION',
    }),
    token: Flags.string({ summary: 'Access token (PASSES_TOKEN).', helpGroup: 'CONNECTION' }),
    profile: Flags.string({
      summary:
        'Profile with the address and token; flags and environment variables override them (PASSES_PROFILE; default: ' +
        'set by "passes profile use").',
      helpGroup: 'CONNECTION',
    }),
    timeout: Flags.string({
      summary: `Timeout of a request in seconds, up to ${MAX_TIMEOUT_SECONDS} (PASSES_TIMEOUT; default: ${DEFAULT_TIMEOUT_SECONDS}).`,
      helpGroup: 'CONNECTION',
    }),
  }

  /** The connection that `connect` sets. Error messages name the source of its address and token. */
  protected connection: Connection | undefined
  readonly #clients: Client[] = []

  /**
   * Parses the flags, asks for missing names on a terminal, and replaces names of projects and other rows by their ids.
   */
  protected override async parse<
    F extends Interfaces.OutputFlags<Interfaces.FlagInput>,
    B extends Interfaces.OutputFlags<Interfaces.FlagInput>,
    A extends Interfaces.OutputArgs<Interfaces.ArgInput>,
  >(options?: Interfaces.Input<F, B, A>, argv?: string[]): Promise<Interfaces.ParserOutput<F, B, A>> {
    const noInput = this.argv.includes('--no-input') || this.jsonEnabled() || !canAnimate(process.stderr)
    const canChoose = canAsk({ noInput })
    const flags = canChoose && options?.flags ? (askable(options.flags) as typeof options.flags) : options?.flags
    const parsed = await super.parse(options && flags ? { ...options, ...inherited(options), flags } : options, argv)
    this.checkFlags?.(parsed.flags)
    let client: Client | undefined
    const connect = () => {
      client ??= this.connect(parsed.flags as ConnectionFlags)
      return client
    }
    if (canChoose) await askForNames(this.ctor.flags ?? {}, parsed.flags, connect)
    await resolveNames(this.ctor.args ?? {}, parsed.args, connect)
    await resolveNames(this.ctor.flags ?? {}, parsed.flags, connect)
    return parsed
  }

  /** Checks the flags before names are resolved, so that its errors do not depend on a token or the server. */
  protected checkFlags?(flags: object): void

  protected connect(flags: ConnectionFlags, options: Omit<ClientOptions, 'url' | 'token'> = {}): Client {
    if (!this.connection) {
      this.connection = resolveConnection(flags)
      if (this.connection.warning) this.note(this.connection.warning)
    }
    const { url, token, noToken, timeoutSeconds } = this.connection
    if (!token) {
      throw new UsageError(noToken, {
        hint: 'give one with --token or PASSES_TOKEN, or store one with "passes login".',
      })
    }
    const client = createClient({
      attempts: 3,
      onRetry: this.#noteRetry,
      ...options,
      url: url.value,
      token: token.value,
      timeoutSeconds,
    })
    this.#clients.push(client)
    return client
  }

  /** Reports a retry after a timeout or with a wait of at least 1 s. Users do not notice other retries. */
  readonly #noteRetry = (retry: Retry) => {
    requireShortWait(retry)
    if (retry.waitSeconds >= 1) this.note(retryNote(retry))
    else if (retry.error instanceof TimeoutError) this.note(`${retry.error.message}; trying again`)
  }

  protected override describe(error: unknown): Failure {
    return describeFailure(error, { connection: this.connection, flags: this.flagNames, argv: this.argv })
  }

  protected override async finally(error: Error | undefined): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()))
    await super.finally(error)
  }
}

/** Returns the static properties of a command, including inherited properties, which a copy of the class would lose. */
function inherited<I extends { baseFlags?: unknown; enableJsonFlag?: boolean }>({ baseFlags, enableJsonFlag }: I) {
  return { baseFlags, enableJsonFlag } as Pick<I, 'baseFlags' | 'enableJsonFlag'>
}

/** The maximum number of attempts for long-running work: 18 to 36 s of waits in all, longer than a usual restart. */
export const PATIENT_ATTEMPTS = 12

const NOTE_EVERY_MS = 5_000

type Retry = Pick<Parameters<NonNullable<ClientOptions['onRetry']>>[0], 'error' | 'waitSeconds'>

/**
 * Creates a callback that reports retries, at most one per interval, so that concurrent requests do not each report
 * one.
 */
export function retryNotes(note: (message: string) => void) {
  let notedAt = 0
  return (retry: Retry) => {
    requireShortWait(retry)
    if (Date.now() - notedAt < NOTE_EVERY_MS) return
    notedAt = Date.now()
    note(retryNote(retry))
  }
}

const MAX_WAIT_SECONDS = 60

/**
 * Fails with the error of the server instead of waiting for hours. The server asks for such a wait if a daily limit is
 * used up, such as a platform's limit of notifications.
 */
function requireShortWait({ error, waitSeconds }: Retry): void {
  if (waitSeconds > MAX_WAIT_SECONDS) throw error
}

function retryNote({ error, waitSeconds }: Retry): string {
  return `${error.message.replace(/\.$/, '')}; trying again in ${waitSeconds.toFixed(1)} s`
}
