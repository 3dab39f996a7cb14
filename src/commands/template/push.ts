import { Flags } from '@oclif/core'
import { namedFlag } from '../../cli/arguments/named.ts'
import { terminalWidth } from '../../cli/command/base-command.ts'
import { UsageError } from '../../cli/command/cli-error.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { details, table } from '../../cli/command/output.ts'
import { programName } from '../../cli/command/program.ts'
import { canAsk, confirm } from '../../cli/command/prompt.ts'
import {
  readTemplateFiles,
  requirePublishable,
  type TemplateFile,
  templateFileArgs,
} from '../../cli/template/template-file.ts'
import { type Change, type Pushed, pushTemplate, showChanges } from '../../cli/template/template-push.ts'
import { warningText } from '../../cli/template/template-version.ts'

export default class TemplatePush extends ClientCommand {
  static override summary = 'Upload template files with their images as drafts, and optionally publish them.'
  static override description =
    'A file contains {key, name, description, passType, definition}; definition.design.images has paths relative to ' +
    'the file. The key identifies the template: the first push creates it, and a later push changes its draft, or ' +
    'creates the next draft if the newest version is published. If a file equals the stored template, the push ' +
    'changes nothing, except that --publish publishes the draft. A file without a key creates a new template, unless ' +
    '--template is set. On a terminal, --publish first shows the differences from the published version, and asks ' +
    'for confirmation. Warnings point out problems such as unreadable colors or truncated texts.'
  static override examples = [
    { description: 'Upload every template of a folder', command: '<%= config.bin %> template push templates/' },
    {
      description: 'Upload and publish a template, so that passes can be issued',
      command: '<%= config.bin %> template push ticket.json --publish',
    },
    {
      description: 'Change a template that has no key',
      command: '<%= config.bin %> template push ticket.json --template 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27',
    },
  ]
  static override strict = false
  static override args = templateFileArgs
  static override flags = {
    template: namedFlag('template', ' to change'),
    project: namedFlag('project', ' for new passes of the template'),
    publish: Flags.boolean({ summary: 'Publish the version instead of only saving a draft.' }),
    yes: Flags.boolean({ summary: 'Skip the confirmation prompt of --publish.', dependsOn: ['publish'] }),
  }

  async run() {
    const { argv, flags } = await this.parse(TemplatePush)
    const { files, isMany } = await readTemplateFiles(argv as string[])
    if (isMany && flags.template)
      throw new UsageError('--template requires a single file; several files are identified by their keys')
    const isAsked = flags.publish && !flags.yes && canAsk({ noInput: flags['no-input'] })
    const client = this.connect(flags)
    // Check all files first: otherwise, an incomplete file would stop the command after other files were published.
    // Without --publish, the files become drafts, which can be incomplete.
    if (flags.publish) for (const file of files) await requirePublishable(file)
    const pushed: Pushed[] = []
    for (const file of files) {
      let made: string | undefined
      try {
        const options = {
          templateId: flags.template,
          projectId: flags.project,
          publish: flags.publish,
          ...(isAsked && { confirmPublish: (changes: Change[]) => this.#ask(file, changes) }),
          onMade: ({ id }: { id: string }) => {
            made = id
          },
        }
        pushed.push(await pushTemplate(client, file, options))
      } catch (error) {
        if (made && file.key === undefined)
          this.note(`Template ${made} was created before this failed: push again with --template ${made}`)
        if (pushed.length > 0) this.note(`${pushed.length} of ${files.length} files were pushed before this failed`)
        throw error
      }
    }
    if (isMany) this.log(showMany(pushed))
    else this.#showOne(pushed[0]!)
    const warnings = warningText(pushed.flatMap((one) => one.warnings))
    if (warnings && !this.jsonEnabled()) this.note(warnings)
    return isMany ? pushed : pushed[0]
  }

  async #ask({ path, name }: TemplateFile, changes: Change[]): Promise<void> {
    this.note(changes.length > 0 ? showChanges(changes) : 'The file equals the published version.')
    await confirm(`Publish ${name} (${path})?`, { yes: false, noInput: false })
  }

  #showOne({ templateId, key, outcome, version, stage, images }: Pushed): void {
    this.log(
      details([
        ['Template', templateId],
        ['Key', key],
        ['Outcome', outcome],
        ['Version', `${version} (${stage})`],
        ['Images', images],
      ]),
    )
    if (outcome === 'created' && key === null && !this.jsonEnabled())
      this.note(`The file has no key, so another push would create another template: add --template ${templateId}`)
    const name = key ?? templateId
    const next = stage === 'draft' ? `template publish ${name}` : `issue FILE.csv --template ${name}`
    if (!this.jsonEnabled()) this.note(`Next: ${programName()} ${next}`)
  }
}

function showMany(pushed: readonly Pushed[]): string {
  return table(
    pushed,
    [
      { title: 'key', value: ({ key }) => key, whole: true },
      { title: 'outcome', value: ({ outcome }) => outcome, whole: true },
      { title: 'version', value: ({ version, stage }) => `${version} (${stage})` },
      { title: 'id', value: ({ templateId }) => templateId, whole: true },
    ],
    { width: terminalWidth() },
  )
}
