import { styleText } from 'node:util'
import type { RedemptionExplanation } from '../../core/contract/scans.ts'
import { details, localTime, printable, textWidth, wrapText } from '../command/output.ts'

type Check = RedemptionExplanation['checks'][number]

/** What each check asks, so that a yes is good news. */
const questions: Record<Check['check'], string> = {
  revoked: 'not void',
  expired: 'not expired',
  not_active: 'issued',
  not_valid_context: 'valid on the date',
  out_of_window: 'within a window',
  quota_exhausted: 'uses left',
  cooldown: 'not too soon',
  already_scanned: 'not scanned yet in this context',
}

const signs = {
  passed: { sign: '✓', color: 'green' },
  failed: { sign: '✗', color: 'red' },
  not_applicable: { sign: '–', color: 'gray' },
} as const

const labelWidth = Math.max(...Object.values(questions).map(textWidth))

export interface ExplanationOptions {
  color: boolean
  /** Columns of the terminal; where there is none, nothing is broken. */
  width?: number | undefined
}

/** Whether a pass would be let in, and every check with a sign and the facts that it used. */
export function showExplanation(explanation: RedemptionExplanation, { color, width }: ExplanationOptions): string {
  const { result, reasonCode, message, checks } = explanation
  const isAccepted = result === 'accepted'
  const verdict = isAccepted ? 'YES: it would be let in' : `NO: ${result === 'denied' ? reasonCode : result}`
  const paint = (text: string, name: (typeof signs)[keyof typeof signs]['color']) =>
    color ? styleText(name, text, { validateStream: false }) : text
  const facts = details([
    ['Pass', explanation.passId],
    ['At', localTime(explanation.at)],
    ['Context', explanation.scanContextKey],
    ['Accepted', explanation.acceptedScanCount],
  ])
  const lines = checks.map(({ check, outcome, facts }) => {
    const { sign, color: name } = signs[outcome]
    const indent = ' '.repeat(labelWidth + 4)
    const said = outcome === 'not_applicable' ? 'nothing to check' : factsText(facts)
    const [first = '', ...rest] = width ? wrapText(said, Math.max(20, width - indent.length)) : [said]
    const head = `${paint(sign, name)} ${questions[check].padEnd(labelWidth)}  ${first}`.trimEnd()
    return [head, ...rest.map((line) => indent + line)].join('\n')
  })
  return [paint(verdict, isAccepted ? 'green' : 'red'), printable(message), '', facts, '', ...lines].join('\n')
}

/** maxUses 3, uses 1: names as people write them, what is null left out. */
function factsText(facts: object): string {
  const known = Object.entries(facts).filter(([, value]) => value !== null)
  return known.map(([name, value]) => `${wordsOf(name)} ${valueText(value)}`).join(', ')
}

function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(valueText).join('; ')
  if (typeof value === 'object' && value !== null) return factsText(value)
  return printable(String(value))
}

function wordsOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}
