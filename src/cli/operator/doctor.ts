import { styleText } from 'node:util'
import { printable } from '../command/output.ts'

/** A check as doctor reports it. */
interface Check {
  group: string
  name: string
  status: 'PASSED' | 'FAILED' | 'SKIPPED'
  message: string
  fix?: string
}

const colors = { PASSED: 'green', FAILED: 'red', SKIPPED: 'yellow' } as const

/** One check a line; below one that failed, what mends it. */
export function showChecks(checks: readonly Check[], { color }: { color: boolean }): string {
  const titles = checks.map(({ group, name }) => `${group}: ${name}`)
  const width = Math.max(...titles.map((title) => title.length))
  const lines = checks.flatMap(({ status, message, fix }, index) => {
    const label = status.padEnd('SKIPPED'.length)
    const styled = color ? styleText(colors[status], label, { validateStream: false }) : label
    const line = `${styled}  ${titles[index]!.padEnd(width)}  ${printable(message)}`
    return fix === undefined ? [line] : [line, `${' '.repeat(label.length)}  Next: ${printable(fix)}`]
  })
  const { passed, failed, skipped } = summarizeChecks(checks)
  return [...lines, '', `${passed} passed, ${failed} failed, ${skipped} skipped.`].join('\n')
}

export function summarizeChecks(checks: readonly Check[]) {
  const count = (status: Check['status']) => checks.filter((check) => check.status === status).length
  return { passed: count('PASSED'), failed: count('FAILED'), skipped: count('SKIPPED') }
}
