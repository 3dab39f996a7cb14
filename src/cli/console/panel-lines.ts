import type { DoorGroup } from '../../core/contract/schemas/scan-shapes.ts'
import type { Candidate, Outcome } from '../../core/rules/door/outcome.ts'
import type { Direction } from '../../core/rules/zones/presence.ts'
import { clockTime, cut, printable, wrapText } from '../command/output.ts'
import type { Overrides } from './console-door.ts'
import { instructionLines } from './decision-lines.ts'
import { directionMarks, filled, historyLines, joined, type Line } from './lines.ts'

/** The content of the lower half of the screen; `null` shows recent scans. */
export type Panel =
  | null
  | { kind: 'search' }
  /**
   * Passes to choose from. The chosen pass is scanned by its id. `of` is the external reference of the ambiguous scan,
   * or `null` after a search.
   */
  | { kind: 'choose'; title: string; candidates: Candidate[]; selected: number; of: string | null }
  | { kind: 'undo'; scan: Outcome }
  | { kind: 'override'; field: keyof Overrides }
  /** The direction of the next scans, for the operator to confirm. */
  | { kind: 'direction'; to: Direction }
  /** The passes that can still be accepted in a group, for the operator to confirm. */
  | { kind: 'group'; label: string; open: DoorGroup['open'] }
  /**
   * The outcomes for passes of one group that were scanned together, rejected passes first. `first` is the index of
   * the first outcome on the screen.
   */
  | { kind: 'entered'; title: string; outcomes: readonly Outcome[]; first: number }
  /** The payloads that are not evaluated yet. If the operator quits, these codes must be scanned again. */
  | { kind: 'quit'; unevaluated: readonly string[] }

export function panelLines(
  panel: NonNullable<Panel>,
  typed: string,
  { width, height }: { width: number; height: number },
): Line[] {
  switch (panel.kind) {
    case 'search':
      return question('Search by name or ID', typed, 'Enter searches', width)
    case 'override':
      return panel.field === 'scanContextKey'
        ? question('Scan context', typed, 'Enter sets it, empty for none · F4 date', width)
        : question('Evaluate as of a date', typed, 'YYYY-MM-DD, Enter sets it, empty for today', width)
    case 'undo': {
      const name = printable(panel.scan.label ?? panel.scan.payload ?? 'the last scan')
      return [
        filled(cut(` Undo the scan of ${name}?`, width), width, { bold: true }),
        filled(` ${panel.scan.direction === 'out' ? 'Left' : 'Admitted'} at ${clockTime(panel.scan.readAt)}.`, width),
        filled(' F3 undoes it, Esc keeps it.', width),
      ]
    }
    case 'direction': {
      const { to } = panel
      const effect = to === 'in' ? 'Scans let people in.' : 'Scans count people out, and admit no one.'
      return [
        filled(` Switch to ${directionMarks[to]}?`, width, { bold: true }),
        filled(cut(` ${effect}`, width), width),
        // Confirm with F9, which is not next to F6, so that a slip does not switch the direction.
        filled(' F9 switches, Esc keeps it.', width),
      ]
    }
    case 'group': {
      const { open } = panel
      const many = Number(typed)
      const hint = `F5 lets in ${open.length === 1 ? 'this one' : `all ${open.length}; a number and Enter let in that many from the top`}`
      const head = question(`Not let in yet, of the group of ${printable(panel.label)}`, typed, hint, width)
      const room = height - head.length
      const shown = open.length > room ? open.slice(0, Math.max(0, room - 1)) : open
      return [
        ...head,
        ...shown.map(({ label, externalPassId }, n) => {
          const text = ` ${String(n + 1).padStart(2)} ${joined([label, externalPassId].map(printable), width - 5)}`
          // Highlight everyone whom Enter admits: the typed number is a count, but could be mistaken for the position
          // of one person in the list.
          return filled(text, width, n < many && many <= open.length ? { inverse: true } : {})
        }),
        ...(shown.length < open.length ? [filled(` … and ${open.length - shown.length} more`, width)] : []),
      ]
    }
    case 'entered': {
      const { title, outcomes, first } = panel
      const lines = outcomes.slice(first).flatMap((outcome) => [
        ...historyLines([outcome], width),
        ...instructionLines(outcome, width - 4).map(({ text, isStrong }) => {
          return filled(`    ${text}`, width, isStrong ? { bold: true } : {})
        }),
      ])
      const hasMore = first > 0 || lines.length >= height
      return [
        filled(` ${[title, ...(hasMore ? ['↑↓ more'] : []), 'Esc back'].join(' · ')}`, width, { bold: true }),
        ...lines.slice(0, height - 1),
      ]
    }
    case 'quit':
      return [
        filled(` ${panel.unevaluated.length} not decided yet. Ctrl-C again quits, Esc stays.`, width, { bold: true }),
        ...panel.unevaluated.slice(0, height - 1).map((code) => filled(` ${printable(code)}`, width)),
      ]
    case 'choose':
      return [filled(` ${printable(panel.title)}`, width, { bold: true }), ...choices(panel, width, height - 1)]
  }
}

function question(title: string, typed: string, hint: string, width: number): Line[] {
  return [
    filled(` ${title}`, width, { bold: true }),
    filled(` › ${cut(printable(typed), width - 5)}▏`, width),
    // Wrap the hint. Otherwise, a narrow screen would cut off the key that closes the panel.
    ...wrapText(`${hint} · Esc back`, width - 1).map((text) => filled(` ${text}`, width, { dim: true })),
  ]
}

/** Returns the lines of the candidates that fit around the selected candidate. */
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
