import { cut, pad, printable, textWidth } from '../../command/output.ts'
import type { Candidate, Outcome } from '../outcome.ts'
import { faceOf, type Tone } from './face.ts'
import { clockTime, filled, joined, type Line, type Style } from './lines.ts'
import type { Panel } from './panel.ts'

const colors: Record<Tone, Style> = {
  yes: { color: 'green' },
  no: { color: 'red' },
  ask: { color: 'yellow' },
  note: { color: 'cyan' },
}

const WORD_WIDTH = 13
/** Narrower screens leave out what can be missed. */
export const NARROW = 64

/** Newest first: when, what, who, and how it stands with the server. */
export function historyLines(last: readonly Outcome[], width: number): Line[] {
  return last.map((outcome) => {
    const { tone, sign, word } = faceOf(outcome)
    const standing = standingOf(outcome)
    const time = clockTime(outcome.readAt)
    const start = ` ${width < NARROW ? time.slice(0, 5) : time} `
    const end = standing === '' ? '' : ` ${standing}`
    const left = width - start.length - 2 - WORD_WIDTH - 1 - textWidth(end)
    const name = printable(outcome.label ?? outcome.payload ?? '')
    return [
      { text: start, dim: true },
      { text: `${sign} ${pad(cut(word, WORD_WIDTH), WORD_WIDTH)} `, bold: true, ...colors[tone] },
      { text: pad(cut(name, left), left) },
      { text: end, color: outcome.conflict === null ? 'cyan' : 'yellow' },
    ]
  })
}

/** A verdict without the server waits for it, or turned out to be one that the server would not have given. */
function standingOf({ verified, scanId, conflict }: Outcome): string {
  if (conflict !== null) return `≠ ${conflict}`
  return verified === 'offline' && scanId === null ? '↑ waits' : ''
}

/** What a panel shows in the place of the last scans. */
export function panelLines(
  panel: NonNullable<Panel>,
  typed: string,
  { width, height }: { width: number; height: number },
): Line[] {
  switch (panel.kind) {
    case 'search':
      return question('Search by name or id', typed, 'Enter searches', width)
    case 'override':
      return panel.field === 'scanContextKey'
        ? question('Scan context', typed, 'Enter sets it, empty for none · F4 date', width)
        : question('Judge as of the date', typed, 'YYYY-MM-DD, Enter sets it, empty for today', width)
    case 'undo': {
      const name = printable(panel.scan.label ?? panel.scan.payload ?? 'the last scan')
      return [
        filled(cut(` Undo the scan of ${name}?`, width), width, { bold: true }),
        filled(` Let in at ${clockTime(panel.scan.readAt)}.`, width),
        filled(' F3 undoes it, Esc keeps it.', width),
      ]
    }
    case 'choose':
      return [filled(` ${printable(panel.title)}`, width, { bold: true }), ...choices(panel, width, height - 1)]
  }
}

function question(title: string, typed: string, hint: string, width: number): Line[] {
  return [
    filled(` ${title}`, width, { bold: true }),
    filled(` › ${cut(printable(typed), width - 5)}▏`, width),
    filled(` ${hint} · Esc back`, width, { dim: true }),
  ]
}

/** A window over the list that holds the selected one. */
function choices(panel: { candidates: Candidate[]; selected: number }, width: number, height: number): Line[] {
  const { candidates, selected } = panel
  const first = Math.max(0, Math.min(selected - Math.floor(height / 2), candidates.length - height))
  return candidates.slice(first, first + height).map((candidate, index) => {
    const number = first + index + 1
    const isSelected = number - 1 === selected
    const lead = `${isSelected ? '›' : ' '}${String(number).padStart(2)} `
    const { label, standing, templateName, externalPassId } = candidate
    const text = joined(
      [label, standing, templateName, externalPassId].map((part) => part && printable(part)),
      width - lead.length,
    )
    return filled(lead + text, width, isSelected ? { inverse: true } : {})
  })
}
