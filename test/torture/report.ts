import type { TestDialect } from '../support/databases.ts'
import type { Findings, Scene } from './arena.ts'

export interface Row {
  promise: number
  scene: string
  promised: string
  database: TestDialect
  done: string
  result: 'HELD' | 'BROKEN' | 'NOT RUN'
  evidence: string | null
}

export function rowOf(scene: Scene, database: TestDialect, findings: Findings, runs: number): Row {
  const { done, longest, most, broken } = findings
  const [evidence = null] = broken
  const more = broken.length > 1 ? ` (and ${broken.length - 1} more)` : ''
  const waits = [...longest].map(([what, seconds]) => `${what}: at most ${asTime(seconds)}`)
  const peaks = [...most].map(([what, value]) => `${what}: at most ${value.toLocaleString('en')}`)
  return {
    promise: scene.promise,
    scene: scene.name,
    promised: scene.promised,
    database,
    done: [...[...done].map(([what, count]) => `${count.toLocaleString('en')} ${what}`), ...waits, ...peaks].join(', '),
    result: evidence !== null ? 'BROKEN' : runs > 0 ? 'HELD' : 'NOT RUN',
    evidence: evidence === null ? null : `${evidence}${more}`,
  }
}

function asTime(seconds: number): string {
  return seconds < 1 ? `${Math.round(seconds * 1000)} ms` : `${seconds.toFixed(1)} s`
}

/** Formats the results for a terminal. Each row is a paragraph, because its counts are long. */
export function printed(rows: Row[]): string {
  return rows
    .map(({ promise, promised, database, done, result, evidence }) => {
      const lines = [`${String(promise).padStart(2)}  ${database.padEnd(8)}  ${result.padEnd(7)}  ${promised}`]
      if (done) lines.push(`${' '.repeat(23)}${done}`)
      if (evidence) lines.push(`${' '.repeat(23)}EVIDENCE: ${evidence}`)
      return lines.join('\n')
    })
    .join('\n')
}

export interface RunFacts {
  command: string
  seed: string
  seconds: number
  startedAt: Date
  machine: string
}

export function asMarkdown(rows: Row[], { command, seed, seconds, startedAt, machine }: RunFacts): string {
  const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ')
  const lines = rows.map(({ promise, promised, database, done, result, evidence }) =>
    [promise, promised, database, done, evidence === null ? result : `**${result}**: ${evidence}`]
      .map((value) => cell(String(value)))
      .join(' | '),
  )
  return [
    `\`${command}\`, seed \`${seed}\`, ${Math.round(seconds / 60)} minutes from ${startedAt.toISOString().slice(0, 16)}Z.`,
    `${machine}.`,
    '',
    '| # | Promise | Database | Load | Result |',
    '|---|---|---|---|---|',
    ...lines.map((line) => `| ${line} |`),
    '',
  ].join('\n')
}
