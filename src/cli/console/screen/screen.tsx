import { Box, Text } from 'ink'
import type { Line, Span } from './lines.ts'
import { type ScreenSize, screenLines, type View } from './screen-lines.ts'

export interface ScreenProps extends ScreenSize {
  view: View
  color: boolean
}

/** The screen of the door console. */
export function Screen({ view, columns, rows, color }: ScreenProps) {
  return (
    <Box flexDirection="column">
      {screenLines(view, { columns, rows }).map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a line is its place on the screen
        <LineText key={index} line={line} color={color} />
      ))}
    </Box>
  )
}

function LineText({ line, color }: { line: Line; color: boolean }) {
  return (
    <Text wrap="truncate">
      {line.map((span, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of a line never move
        <SpanText key={index} span={span} color={color} />
      ))}
    </Text>
  )
}

function SpanText({ span, color }: { span: Span; color: boolean }) {
  const { text, color: foreground, background, bold = false, dim = false, inverse = false } = span
  return (
    <Text
      {...(color && foreground && { color: foreground })}
      {...(color && background && { backgroundColor: background })}
      bold={bold}
      dimColor={dim}
      // Without colour, what has a background still stands out.
      inverse={inverse || (!color && background !== undefined)}
    >
      {text}
    </Text>
  )
}
