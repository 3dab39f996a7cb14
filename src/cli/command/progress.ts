import type { SingleBar } from 'cli-progress'
import { canAnimate } from '../settings/settings.ts'
import { count, duration } from './output.ts'
import { startNewLine } from './program.ts'

export interface ProgressState {
  /** The processed part of `total`, in the same unit. */
  done: number
  rows: number
  failed: number
}

export interface ProgressOptions {
  total: number | undefined
  /** The state at the start of this run; zero by default. The rate and the remaining time cover only this run. */
  start?: ProgressState
  /** The unit, in the plural; "rows" by default. */
  unit?: string
}

export type Progress = Awaited<ReturnType<typeof startProgress>>

/** Erases the progress bar and the ^C that the terminal shows after Ctrl-C. Without a bar, starts a new line. */
export function eraseInterrupted(): void {
  if (canAnimate(process.stderr)) process.stderr.write(ERASE_LINE)
  else startNewLine()
}

const ZERO: ProgressState = { done: 0, rows: 0, failed: 0 }

const ERASE_LINE = '\r\u001B[2K'
const SAVE_CURSOR = '\u001B7'
const LINE_EVERY_MS = 5_000

/** Shows progress on stderr: on a terminal a bar with rate and remaining time, elsewhere a plain line at intervals. */
export async function startProgress(options: ProgressOptions) {
  const bar = canAnimate(process.stderr) ? await openBar(options) : undefined
  const startedAt = Date.now()
  let printedAt = startedAt
  return {
    update: (state: ProgressState) => {
      const facts = factsOf(state, options, (Date.now() - startedAt) / 1000)
      if (bar) bar.update(state.done, facts)
      else if (Date.now() - printedAt >= LINE_EVERY_MS) {
        printedAt = Date.now()
        process.stderr.write(`${lineOf(facts)}\n`)
      }
    },
    /** Writes a line above the progress bar without breaking it. */
    note: (message: string) => process.stderr.write(bar ? `${ERASE_LINE}${message}\n` : `${message}\n`),
    [Symbol.dispose]: () => {
      if (!bar) return
      // End the bar on the current line. Otherwise, it would end on the line where it started, above the lines that
      // were written later.
      process.stderr.write(`${ERASE_LINE}${SAVE_CURSOR}`)
      bar.stop()
    },
  }
}

async function openBar(options: ProgressOptions): Promise<SingleBar> {
  const { total, start = ZERO } = options
  const { default: cliProgress } = await import('cli-progress')
  const shown = '{rows}{failed} | {rate}/s'
  const bar = new cliProgress.SingleBar(
    {
      format: total === undefined ? shown : `[{bar}] {percentage}% | ${shown} | {left}`,
      stream: process.stderr,
      barsize: 24,
      fps: 5,
      hideCursor: false,
      // Keep line wrapping on. Otherwise, a killed process would leave it off. Lines are truncated to fit anyway.
      linewrap: true,
      clearOnComplete: true,
    },
    cliProgress.Presets.legacy,
  )
  bar.start(total ?? 0, start.done, factsOf(start, options, 0))
  return bar
}

function factsOf(state: ProgressState, { total, start = ZERO, unit = 'rows' }: ProgressOptions, seconds: number) {
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
