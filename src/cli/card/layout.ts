import type { CardField } from '../../core/rules/display/card.ts'
import { pad, printable, textWidth, wrapText } from '../command/output.ts'

export type Style = 'label' | 'value' | 'strong' | 'symbol'

/** A line of the card: pieces that together are as wide as its inside. */
export type Line = { text: string; style: Style }[]

const GAP = 2
const NARROWEST_COLUMN = 12

/** Fields side by side, each a label over its value; as many rows as it takes. */
export function fieldLines(fields: readonly CardField[], width: number, value: Style = 'value'): Line[] {
  const shown = fields.filter((field) => `${field.label}${field.value}`.trim() !== '')
  const perRow = Math.max(1, Math.floor((width + GAP) / (NARROWEST_COLUMN + GAP)))
  const lines: Line[] = []
  for (let at = 0; at < shown.length; at += perRow) lines.push(...rowLines(shown.slice(at, at + perRow), width, value))
  return lines.length > 0 ? [...lines, blankLine(width)] : []
}

export function textLine(text: string, width: number, style: Style): Line[] {
  return wrapText(printable(text), width).map((line) => [{ text: pad(line, width), style }])
}

export function centredLine(text: string, width: number, style: Style): Line {
  const before = Math.max(0, Math.floor((width - textWidth(text)) / 2))
  const after = Math.max(0, width - textWidth(text) - before)
  return [
    { text: ' '.repeat(before), style: 'value' },
    { text, style },
    { text: ' '.repeat(after), style: 'value' },
  ]
}

export function blankLine(width: number): Line {
  return [{ text: ' '.repeat(width), style: 'value' }]
}

function rowLines(fields: readonly CardField[], width: number, value: Style): Line[] {
  const column = Math.floor((width - GAP * (fields.length - 1)) / fields.length)
  const cells = fields.map((field) => [
    ...wrapText(printable(field.label), column).map((text) => ({ text, style: 'label' as Style })),
    ...wrapText(printable(field.value), column).map((text) => ({ text, style: value })),
  ])
  const height = Math.max(...cells.map((cell) => cell.length))
  return Array.from({ length: height }, (_, row) =>
    cells.map((cell, index) => {
      const { text, style } = cell[row] ?? { text: '', style: value }
      // The last one also takes what the division left over.
      const isLast = index === cells.length - 1
      const room = isLast ? width - index * (column + GAP) : column + GAP
      return { text: pad(text, room), style }
    }),
  )
}
