import { writeFile } from 'node:fs/promises'
import { Flags } from '@oclif/core'
import { htmlFlag, languageFlag } from '../../cli/arguments/list-flags.ts'
import { namedArg } from '../../cli/arguments/named.ts'
import type { CardJson } from '../../cli/card-picture.ts'
import { drawing } from '../../cli/command/base-command.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { forceFlag, requireReplaceable } from '../../cli/command/existing-file.ts'
import { getVersion, warningText } from '../../cli/template/template-version.ts'

export default class TemplatePreview extends ClientCommand {
  static override summary = 'Draw a sample pass of a template.'
  static override description =
    'Variables have their example values. The drawing shows the colors, the barcode, the fields that an iPhone shows, ' +
    'and below them the fields that it leaves out. Warnings are shown, too.'
  static override examples = [
    {
      description: 'Draw the newest version, including drafts',
      command: '<%= config.bin %> template preview 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27',
    },
    {
      description: 'Write a page with both phones',
      command: '<%= config.bin %> template preview 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --version 2 --html ticket.html',
    },
    {
      description: 'Draw the pass in another language',
      command: '<%= config.bin %> template preview conference-ticket --language ja',
    },
  ]
  static override args = { id: namedArg('template') }
  static override flags = {
    version: Flags.integer({ summary: 'Number of the version (default: the newest, including drafts).', min: 1 }),
    language: languageFlag(),
    html: htmlFlag,
    force: forceFlag,
  }

  async run() {
    const { args, flags } = await this.parse(TemplatePreview)
    requireReplaceable(flags.html, flags.force)
    const client = this.connect(flags)
    const { id, version, stage } = await getVersion(client, { templateId: args.id, version: flags.version })
    const params = { id }
    const { language } = flags
    if (flags.html) {
      const page = await client.templateVersions.preview({ params, query: { format: 'html', language } })
      if (!(page instanceof Uint8Array)) throw new TypeError('The server returned no page')
      await writeFile(flags.html, page)
      this.log(`Wrote ${flags.html} (version ${version}, ${stage}).`)
      return { templateId: args.id, version, stage, file: flags.html }
    }
    const preview = await client.templateVersions.preview({ params, query: { language } })
    if (preview instanceof Uint8Array) throw new TypeError('The server returned a file')
    if (!this.jsonEnabled()) {
      const { drawLooks, previewedByApple } = await import('../../cli/device/phone-output.ts')
      // The server renders a `CardJson`, but the contract does not define its properties.
      const given = preview.card as unknown as CardJson
      // Draw the pass that Apple devices would receive: unlike the card, it includes the Apple overrides.
      const looks = previewedByApple(preview.apple, given.language)
      const card = { ...given, ...looks?.card, images: given.images }
      this.log(await drawLooks({ card, newer: looks?.newer }, { ...drawing(flags), marksSurplus: true }))
      this.note(`Version ${version} (${stage}), with sample values.`)
      const warnings = warningText(preview.warnings)
      if (warnings) this.note(warnings)
    }
    return preview
  }
}
