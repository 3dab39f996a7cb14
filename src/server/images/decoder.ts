import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { constants, setPriority } from 'node:os'
import { dirname, extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ImageFault } from '../../core/rules/template/image.ts'
import type { Logger } from '../boot/log.ts'
import type { DecodeRequest, DecodeResponse } from './child.ts'
import type { MadeFiles } from './make-files.ts'

/** Decodes images in a process of its own, one at a time. */
export interface Decoder {
  /** @throws ImageFault where the image is broken, or brings its decoder down */
  decode(request: DecodeRequest): Promise<MadeFiles>
  /** Ends the process; a later call of decode starts another. */
  close(): void
}

export interface DecoderOptions {
  log: Logger
  /** Past this the process is killed, whatever it does; the image is refused. */
  killAfterSeconds?: number
  /** What runs in the process; for tests of one that misbehaves. */
  program?: string
}

/** Within the limits of inspectImage the dearest picture takes two seconds of one core. */
const KILL_AFTER_SECONDS = 15
const START_SECONDS = 30
/** Then the process ends, and with it goes the memory that it took. */
const IDLE_MS = 60_000

export function createDecoder(options: DecoderOptions): Decoder {
  const { log, killAfterSeconds = KILL_AFTER_SECONDS, program = siblingOf('child') } = options
  let running: Promise<DecoderProcess> | undefined
  let idle: NodeJS.Timeout | undefined

  function close(): void {
    clearTimeout(idle)
    running?.then((process) => process.end()).catch(() => undefined)
    running = undefined
  }

  function start(): Promise<DecoderProcess> {
    const started = startDecoder(program, () => {
      if (running === started) running = undefined
    })
    return started
  }

  return {
    async decode(request) {
      clearTimeout(idle)
      running ??= start()
      try {
        const response = await (await running).ask(request, killAfterSeconds)
        if ('made' in response) return response.made
        throw new ImageFault('cannot be decoded: it is broken, or takes too long', { cause: response })
      } catch (error) {
        if (!(error instanceof DecoderEnded)) throw error
        log.warn({ reason: error.message }, 'an image brought down the process that decodes images, and is refused')
        throw new ImageFault('cannot be decoded: it brings the decoder down', { cause: error })
      } finally {
        idle = setTimeout(close, IDLE_MS).unref()
      }
    },
    close,
  }
}

interface DecoderProcess {
  /** @throws DecoderEnded */
  ask(request: DecodeRequest, seconds: number): Promise<DecodeResponse>
  end(): void
}

class DecoderEnded extends Error {
  override readonly name = 'DecoderEnded'
}

/** Resolves once the process has loaded what it needs. */
async function startDecoder(program: string, onEnd: () => void): Promise<DecoderProcess> {
  const child = fork(program, [], {
    // From source, where there is no compiled file yet.
    execArgv: extname(program) === '.ts' ? ['--import', 'tsx'] : [],
    // Where tsx is found.
    cwd: dirname(program),
    // None of our settings: who takes over the decoder finds no key there. And no warnings of its libraries in our log.
    env: { VIPS_WARNING: 'none', MALLOC_ARENA_MAX: '2' },
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const ended = new Promise<never>((_, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => reject(new DecoderEnded(`It ended with ${signal ?? `code ${code}`}`)))
  })
  ended.catch(onEnd)

  async function next(seconds: number): Promise<DecodeResponse> {
    setBusy(child, true)
    const late = setTimeout(() => child.kill('SIGKILL'), seconds * 1000)
    try {
      const [response] = await Promise.race([once(child, 'message'), ended])
      return response
    } finally {
      clearTimeout(late)
      setBusy(child, false)
    }
  }

  try {
    await next(START_SECONDS)
  } catch (cause) {
    child.kill('SIGKILL')
    throw new Error('The process that decodes images does not start', { cause })
  }
  // Requests that only read go before.
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL)
  return {
    ask(request, seconds) {
      const response = next(seconds)
      if (child.connected) child.send(request, () => undefined)
      return response
    },
    end: () => child.kill('SIGKILL'),
  }
}

/** A process that waits for work keeps no other from ending. */
function setBusy(child: ChildProcess, isBusy: boolean): void {
  for (const handle of [child, child.channel]) isBusy ? handle?.ref() : handle?.unref()
}

/** A module beside this one, compiled or not. */
function siblingOf(name: string): string {
  const own = fileURLToPath(import.meta.url)
  return fileURLToPath(new URL(`./${name}${extname(own)}`, import.meta.url))
}
