import { Flags } from '@oclif/core'
import { namedArg, namedFlag } from '../../cli/arguments/id-argument.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { showProject } from '../../cli/records.ts'
import { ProjectColor } from '../../core/contract/projects.ts'

export default class ProjectUpdate extends ClientCommand {
  static override summary = 'Change a project.'
  static override description = 'What is not given stays as it is.'
  static override examples = [
    '<%= config.bin %> project update 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10 --name "Autumn fair"',
    '<%= config.bin %> project update 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10 --color orange --description ""',
    '<%= config.bin %> project update "Acme fair" --apple-identity acme',
  ]
  static override args = { id: namedArg('project') }
  static override flags = {
    name: Flags.string({
      summary: 'New name.',
      atLeastOne: ['name', 'description', 'color', 'apple-identity', 'google-identity'],
    }),
    description: Flags.string({ summary: 'New description.' }),
    color: Flags.option({ summary: 'New colour.', options: ProjectColor.options })(),
    'apple-identity': namedFlag(
      'identity',
      ' that new passes are signed by for Apple; none for the default of the workspace',
      { mayBeNone: true },
    ),
    'google-identity': namedFlag('identity', ' whose new passes are at Google; none for the default of the workspace', {
      mayBeNone: true,
    }),
  }

  async run() {
    const { args, flags } = await this.parse(ProjectUpdate)
    const { name, description, color } = flags
    const project = await this.connect(flags).projects.update({
      params: { id: args.id },
      body: {
        name,
        description,
        color,
        appleIdentityId: orNull(flags['apple-identity']),
        googleIdentityId: orNull(flags['google-identity']),
      },
    })
    this.log(showProject(project))
    return project
  }
}

function orNull(id: string | undefined): string | null | undefined {
  return id === 'none' || id === 'null' ? null : id
}
