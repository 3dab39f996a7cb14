import { Flags } from '@oclif/core'
import { htmlFlag, languageFlag, parsePath } from '../../cli/arguments/list-flags.ts'
import { getPassId, passArgs, passFlags } from '../../cli/arguments/pass-argument.ts'
import { drawing, terminalWidth } from '../../cli/command/base-command.ts'
import { UsageError } from '../../cli/command/cli-error.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { forceFlag, requireReplaceable } from '../../cli/command/existing-file.ts'
import { platforms } from '../../core/contract/schemas/platform.ts'
import { writePrivate } from '../../files/private-file.ts'

export default class PassPreview extends ClientCommand {
  static override summary = 'Show a pass as phones show it, or the data that each platform gets.'
  static override description =
    'On a terminal, draws the pass as an iPhone shows it. With --json or --platform, or in a pipe, prints the ' +
    'pass.json for Apple, and the class and object for Google.'
  static override examples = [
    '<%= config.bin %> pass preview 0198c7a3-1b02-7d44-a1c8-5e9f0b7d6c33 --platform apple',
    {
      description: 'Write the file that an iPhone installs',
      command: '<%= config.bin %> pass preview T-1 --external --out T-1.pkpass',
    },
    {
      description: 'Write a page with the pass on both phones, in Arabic',
      command: '<%= config.bin %> pass preview T-1 --external --language ar --html T-1.html',
    },
  ]
  static override args = passArgs
  static override flags = {
    ...passFlags,
    platform: Flags.option({ summary: 'Only this platform.', options: platforms })(),
    out: Flags.string({
      summary: 'File for the signed Apple pass (FILE.pkpass).',
      exclusive: ['html'],
      parse: parsePath,
    }),
    language: languageFlag({ exclusive: ['out'] }),
    html: htmlFlag,
    force: forceFlag,
  }

  async run() {
    const { args, flags } = await this.parse(PassPreview)
    const { platform, out, html, language } = flags
    if (out && platform === 'google') throw new UsageError('--out writes an Apple pass; a Google pass is not a file')
    const path = out ?? html
    requireReplaceable(path, flags.force)
    const client = this.connect(flags)
    const params = { id: await getPassId(client, { id: args.id, external: flags.external }) }
    if (path) {
      const query = out
        ? ({ platform: 'apple', format: 'pkpass' } as const)
        : ({ platform, format: 'html', language } as const)
      const file = await client.passes.preview({ params, query })
      if (!(file instanceof Uint8Array)) throw new TypeError('The server returned no file')
      await writePrivate(path, file)
      this.log(`Wrote ${path} (${file.length} bytes).`)
      return { id: params.id, file: path, bytes: file.length }
    }
    const preview = await client.passes.preview({ params, query: { platform, language } })
    if (this.jsonEnabled() || preview instanceof Uint8Array) return preview
    const { drawLooks, previewedByApple } = await import('../../cli/device/phone-output.ts')
    const looks = platform === undefined && terminalWidth() !== undefined && previewedByApple(preview.apple, language)
    if (!looks) {
      this.log(JSON.stringify(preview, undefined, 2))
      return preview
    }
    this.log(await drawLooks(looks, { ...drawing(flags), marksSurplus: true }))
    this.note('Add --json or --platform for the data that each platform gets.')
    return preview
  }
}
