import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Flags } from '@oclif/core'
import { BaseCommand, drawing } from '../cli/command/base-command.ts'
import { duration } from '../cli/command/output.ts'

export default class Demo extends BaseCommand {
  static override summary = 'Run a complete demo on a temporary server.'
  static override description =
    'Starts a server with sandbox credentials in a temporary folder, issues 2,000 conference tickets, verifies the ' +
    'packages that phones would get, installs a ticket on two virtual phones, shows an update, scans tickets at a door, ' +
    'and lets a visitor join for a coffee card. Exits with 0 only if every step worked. Needs openssl.'
  static override examples = ['<%= config.bin %> demo', '<%= config.bin %> demo --keep']
  static override flags = {
    keep: Flags.boolean({ summary: 'Keep the temporary folder with the database, keys, and links.' }),
  }

  async run() {
    const { flags } = await this.parse(Demo)
    const { runDemo } = await import('../cli/demo/story.ts')
    const folder = await mkdtemp(join(tmpdir(), 'passes-demo-'))
    try {
      const steps = await runDemo({
        folder,
        onStep: ({ title, result, seconds }) => this.log(`✓ ${title}: ${result} (${duration(seconds)})`),
        onPicture: (picture) => this.log(`\n${picture}`),
        drawing: drawing(flags),
      })
      if (flags.keep) this.log(`\nKept ${folder}`)
      this.log('\nEverything worked. Next: passes serve')
      return { steps, ...(flags.keep && { folder }) }
    } finally {
      if (!flags.keep) await rm(folder, { recursive: true, force: true })
    }
  }
}
