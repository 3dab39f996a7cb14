import { basename, relative } from 'node:path'

/** How this program was called: `passes`, or `node bin/run.js` where it is not installed. */
export function programName(argv: readonly string[] = process.argv): string {
  const script = argv[1] ?? 'passes'
  return basename(script) === 'passes' ? 'passes' : `node ${quote(relative(process.cwd(), script) || script)}`
}

/** The literal command line that repeats this call, quoted for a shell, with flags left out or added. */
export function commandLine(options: { without?: readonly string[]; argv?: readonly string[] } = {}): string {
  const argv = options.argv ?? process.argv
  const words = argv.slice(2).filter((word) => !options.without?.includes(word))
  return [programName(argv), ...words.map(quote)].join(' ')
}

function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
