"""Drops the oldest unit again and again until the rest fits."""


class Condenser:
    must_stay = {"system", "developer"}

    def __call__(self, history, room, count):
        groups = []
        for message in history:
            if message.get("role") != "tool":
                groups.append([])
            groups[-1].append(message)
        while self.total(groups, count) > room:
            spare = [group for group in groups if not self.stays(group, history)]
            if not spare:
                break
            groups = [group for group in groups if group is not spare[0]]
        return tuple(message for group in groups for message in group)

    def total(self, groups, count):
        return sum(count(message) for group in groups for message in group)

    def stays(self, group, history):
        questions = [message for message in history if message.get("role") == "user"]
        return group[0].get("role") in self.must_stay or group[0] is questions[-1]


condense = Condenser()
