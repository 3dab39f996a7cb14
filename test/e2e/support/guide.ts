import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The top folder of the project. */
export const root = new URL('../../../', import.meta.url).pathname

/** A fenced block of a guide, in the order of reading. */
export type Step =
  | { kind: 'run'; line: number; commands: string[]; exitCode: number }
  /** Commands that cannot be run by a test, with the reason that the guide gives in a comment. */
  | { kind: 'not-run'; line: number; commands: string[]; reason: string }
  /** A file that the reader writes. */
  | { kind: 'file'; line: number; name: string; content: string }
  /** The expected output of the previous commands. … stands for any text. */
  | { kind: 'output'; line: number; lines: string[] }
  /** An action of another party, such as Apple, which the test simulates. */
  | { kind: 'meanwhile'; line: number; name: string }

export interface Guide {
  /** The path relative to the top folder of the project. */
  path: string
  steps: Step[]
}

/**
 * Reads a guide as a reader would follow it:
 *
 * - Each line of an `sh` block is run. `<!-- not run: REASON -->` before a block skips it, and
 *   `<!-- exits N: REASON -->` expects that exit code.
 * - A block whose info string ends in `file=NAME` is written to that file.
 * - A `text` block after commands is their output.
 * - `<!-- meanwhile: NAME -->` marks an action of another party.
 */
export function readGuide(path: string): Guide {
  const text = readFileSync(join(root, path), 'utf8')
  const steps: Step[] = []
  const pattern =
    /^<!-- (?<note>[a-z- ]+?)(?: (?<code>\d+))?: (?<said>.*?) -->$|^```(?<info>[^\n`]+)\n(?<body>.*?)^```$/gms
  let note: { kind: string; code: number; said: string } | undefined
  for (const { index, groups = {} } of text.matchAll(pattern)) {
    const line = text.slice(0, index).split('\n').length
    if (groups.note) {
      note = { kind: groups.note, code: Number(groups.code ?? 0), said: groups.said!.replaceAll('\n', ' ') }
      if (note.kind !== 'meanwhile') continue
      steps.push({ kind: 'meanwhile', line, name: note.said })
    } else {
      const step = stepOf(line, groups.info!, groups.body!, note)
      if (step) steps.push(step)
    }
    note = undefined
  }
  return { path, steps }
}

function stepOf(
  line: number,
  info: string,
  body: string,
  note: { kind: string; code: number; said: string } | undefined,
): Step | undefined {
  const [, name] = / file=(\S+)$/.exec(info) ?? []
  if (name) return { kind: 'file', line, name, content: body }
  if (info === 'text') return { kind: 'output', line, lines: body.trimEnd().split('\n') }
  if (info !== 'sh') return undefined
  const commands = commandsOf(body)
  if (note?.kind === 'not run') return { kind: 'not-run', line, commands, reason: note.said }
  return { kind: 'run', line, commands, exitCode: note?.kind === 'exits' ? note.code : 0 }
}

/** Returns the commands, one per line. A backslash at the end of a line continues it. */
function commandsOf(block: string): string[] {
  return block
    .trim()
    .split(/(?<!\\)\n/)
    .filter((command) => command !== '' && !command.startsWith('#'))
}
