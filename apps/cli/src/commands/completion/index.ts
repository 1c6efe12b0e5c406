import type { CommandFile } from '../../command-file.ts';
import { oneOf } from '../../parse/one-of.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** Each asks the command itself: what it suggests is never older than the command. */
const SCRIPTS: Readonly<Record<(typeof SHELLS)[number], string>> = {
  bash: `_agentlens() {
  local IFS=$'\\n'
  COMPREPLY=($(agentlens complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _agentlens agentlens`,
  zsh: `#compdef agentlens
_agentlens() {
  local -a found
  found=("\${(@f)$(agentlens complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  compadd -- $found
}
compdef _agentlens agentlens`,
  fish: `function __agentlens_complete
  set -l before (commandline -opc)
  agentlens complete -- $before[2..] (commandline -ct) 2>/dev/null
end
complete -c agentlens -f -a '(__agentlens_complete)'`,
};

const INSTALL = `
bash:  agentlens completion bash >> ~/.bashrc
zsh:   agentlens completion zsh >> ~/.zshrc     (after compinit)
fish:  agentlens completion fish > ~/.config/fish/completions/agentlens.fish`;

export const define: CommandFile['define'] = (command, { output }) => {
  command
    .argument('<shell>', SHELLS.join(', '), oneOf(SHELLS))
    .addHelpText('after', INSTALL)
    .action((shell) => output.print({ shell, script: SCRIPTS[shell] }, () => SCRIPTS[shell]));
};
