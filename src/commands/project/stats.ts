import { namedArg } from '../../cli/arguments/id-argument.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { count, details } from '../../cli/command/output.ts'

export default class ProjectStats extends ClientCommand {
  static override summary = 'Count what a project holds.'
  static override examples = [
    '<%= config.bin %> project stats 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10',
    '<%= config.bin %> project stats 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10 --json',
  ]
  static override args = { id: namedArg('project') }

  async run() {
    const { args, flags } = await this.parse(ProjectStats)
    const stats = await this.connect(flags).projects.stats({ params: { id: args.id } })
    this.log(
      details([
        ['Project', stats.projectId],
        ['Templates', count(stats.templateCount)],
        ['Live passes', count(stats.livePassCount)],
        ['All passes', count(stats.totalPassCount)],
        ['Installed on Google', count(stats.googleInstallCount)],
        ['Added in the last 7 days', count(stats.passesAddedLast7Days)],
      ]),
    )
    return stats
  }
}
