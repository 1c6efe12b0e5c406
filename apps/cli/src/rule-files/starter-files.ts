/** A first rule file and its test, for `agentlens rules init`. They pass `agentlens rules test` as they are. */
export function starterFiles(ruleset: string): { readonly rules: string; readonly test: string } {
  return { rules: rulesText(ruleset), test: TEST };
}

const rulesText = (
  ruleset: string,
) => `# The rules of the ruleset "${ruleset}". A rule says which calls it is about, when it matches, and what happens then.
# Check:  agentlens rules test FOLDER      Compare: agentlens rules plan FILE      Make it so: agentlens rules apply FILE
apiVersion: agentlens/v1
ruleset: ${ruleset}
rules:
  # While the mode is shadow, a rule only records. See what it would have stopped:
  #   agentlens decisions list --would-have ask,block
  # Then make it act: agentlens rules promote FILE large-payments
  - key: large-payments # stays when you rename the rule; unique in the tenant
    name: Payments over 1,000 need approval
    mode: shadow
    selector: { tools: ["pay_*"] } # names of tools; * stands for any text
    conditionType: tool_argument
    conditionConfig: { path: amount, type: number, operator: gt, value: 1000 }
    actionType: require_approval
    actionConfig: { title: "Pay this?" }
    onMissing: block # a call without an amount is blocked

  # A glob matches the whole text; * stands for any characters.
  - key: no-secrets-in-files
    name: No reading of secrets
    mode: shadow
    selector: { tools: ["read_*"] }
    conditionType: tool_argument
    conditionConfig: { path: path, operator: glob, value: "*.env" }
    actionType: block
    actionConfig: { message: "Files with secrets are not read" }

  # The sixth call of a run is one too many.
  - key: five-payments-a-run
    name: At most five payments in one run
    mode: shadow
    selector: { tools: ["pay_*"] }
    conditionType: max_calls
    conditionConfig: { tools: ["pay_*"], max: 5 }
    actionType: block
    actionConfig: { message: "This run has paid five times already" }
`;

const TEST = `# Tests of rules.yaml, without a platform: agentlens rules test FOLDER
# "wouldBe" is what happens once the rules act; "effect" is what happens now.
rules: ./rules.yaml
tests:
  - name: a large payment needs approval, a small one does not
    calls:
      - { tool: pay_card, args: { amount: 1500 }, expect: { wouldBe: ask } }
      - { tool: pay_card, args: { amount: 10 }, expect: { wouldBe: allow } }

  - name: a payment without an amount is blocked
    calls:
      - { tool: pay_card, args: { iban: DE00 }, expect: { wouldBe: block } }

  - name: secrets are not read, other files are
    calls:
      - { tool: read_file, args: { path: app/.env }, expect: { wouldBe: block } }
      - { tool: read_file, args: { path: README.md }, expect: { wouldBe: allow } }

  - name: the sixth payment of a run is blocked
    calls:
      - { tool: pay_card, args: { amount: 1 } }
      - { tool: pay_card, args: { amount: 1 } }
      - { tool: pay_card, args: { amount: 1 } }
      - { tool: pay_card, args: { amount: 1 } }
      - { tool: pay_card, args: { amount: 1 }, expect: { wouldBe: allow } }
      - { tool: pay_card, args: { amount: 1 }, expect: { wouldBe: block } }
`;
