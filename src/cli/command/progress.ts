import type { SingleBar } from 'cli-progress'
import { canAnimate } from '../settings/settings.ts'
import { count, duration } from './output.ts'
import { startNewLine } from './program.ts'

/** How far some work has come. */
export interface ProgressState {
  /** What was worked through of `total`, in the same unit. */
  done: number
  /** Things to count for people. */
  rows: number
  failed: number
}

/** What a progress bar counts. */
export interface ProgressOptions {
  /** Undefined where the end is not known. */
  total: number | undefined
  /** Where this run begins, which the rate and the time left do not count. */
  start: ProgressState
  /** What is counted, in the plural; rows by default. */
  unit?: string
}

/** Shows how far some work has come. */
export interface Progress {
  update(state: ProgressState): void
  /** A line that stands beside the bar without tearing it. */
  note(message: string): void
  [Symbol.dispose](): void
}

/** Begins an empty line after Ctrl-C: erases the ^C that the terminal shows, and the bar before it. */
export function eraseInterrupted(): void {
  if (canAnimate(process.stderr)) process.stderr.write(ERASE_LINE)
  else startNewLine()
}

const ERASE_LINE = '\r\u001B[2K'
const SAVE_CURSOR = '\u001B7'
const LINE_EVERY_MS = 5_000

/** Progress on stderr: a bar with rate and time left on a terminal, a plain line now and then elsewhere. */
export async function startProgress(options: ProgressOptions): Promise<Progress> {
  const bar = canAnimate(process.stderr) ? await openBar(options) : undefined
  const startedAt = Date.now()
  let printedAt = startedAt
  return {
    update: (state) => {
      const facts = factsOf(state, options, (Date.now() - startedAt) / 1000)
      if (bar) bar.update(state.done, facts)
      else if (Date.now() - printedAt >= LINE_EVERY_MS) {
        printedAt = Date.now()
        process.stderr.write(`${lineOf(facts)}\n`)
      }
    },
    note: (message) => process.stderr.write(bar ? `${ERASE_LINE}${message}\n` : `${message}\n`),
    [Symbol.dispose]: () => {
      if (!bar) return
      // The bar ends where it began, which is above the lines that were written since: end it on its current line.
      process.stderr.write(`${ERASE_LINE}${SAVE_CURSOR}`)
      bar.stop()
    },
  }
}

async function openBar(options: ProgressOptions): Promise<SingleBar> {
  const { total, start } = options
  const { default: cliProgress } = await import('cli-progress')
  const shown = '{rows}{failed} | {rate}/s'
  const bar = new cliProgress.SingleBar(
    {
      format: total === undefined ? shown : `[{bar}] {percentage}% | ${shown} | {left}`,
      stream: process.stderr,
      barsize: 24,
      fps: 5,
      hideCursor: false,
      // Else it switches wrapping off, which a process that ends at once would leave so; lines are cut to fit anyway.
      linewrap: true,
      clearOnComplete: true,
    },
    cliProgress.Presets.legacy,
  )
  bar.start(total ?? 0, start.done, factsOf(start, options, 0))
  return bar
}

function factsOf(state: ProgressState, { total, start, unit = 'rows' }: ProgressOptions, seconds: number) {
  const isRunning = seconds > 0 && state.done > start.done
  const rate = isRunning ? (state.rows - start.rows) / seconds : 0
  const left = isRunning && total ? ((total - state.done) / (state.done - start.done)) * seconds : undefined
  return {
    rows: `${count(state.rows)} ${unit}`,
    failed: state.failed > 0 ? `, ${count(state.failed)} failed` : '',
    rate: count(Math.round(rate)),
    left: left === undefined ? '' : `${duration(Math.ceil(left))} left`,
    percent: total ? `${Math.floor((state.done / total) * 100)}%` : '',
  }
}

function lineOf(facts: ReturnType<typeof factsOf>): string {
  return [facts.percent, `${facts.rows}${facts.failed}`, `${facts.rate}/s`, facts.left].filter(Boolean).join(', ')
}
